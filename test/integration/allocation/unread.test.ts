import assert from 'node:assert/strict';
import http2, { type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { connect, createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { AttachRequest, LeasePage, LeaseRef } from '../../../src/generated/proto/pluginbroker/v1/allocator.js';
import { serveAllocator } from '../../../src/platform/grpc/alloc-service.js';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { framed, MessageReader } from '../../../src/platform/grpc/message-reader.js';
import { UnreadAnswers } from '../../../src/platform/grpc/unread-answers.js';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import type { FakeClock } from '../../support/fake-clock.js';
import { eventually } from '../../support/eventually.js';
import { NO_ANSWER } from '../../support/leases.js';
import { silentLog } from '../../support/silence.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'v/gpu';
const USER = 4001;
/** The most that one user may leave unread. */
const MOST_BYTES = 8 * 1024 * 1024;

/** alloc.sock of a user that has leases with long answers. */
class Bed {
  readonly unread = new UnreadAnswers({ ownUid: 0, userOf: (uid) => uid });
  readonly cutOff: string[] = [];
  readonly pass: (ms: number) => void;
  /** The same, and what was to be done meanwhile is done. */
  readonly advance: (ms: number) => Promise<void>;
  /** Leases of which a message was made. */
  made = 0;
  /** How long that takes. */
  makingMs = 0;
  readonly socket = path.join(tempDir(), 'alloc.sock');
  readonly #door: GrpcDoor;
  readonly #server: Server;
  readonly #sessions: ClientHttp2Session[] = [];

  private constructor(allocations: Parameters<typeof serveAllocator>[1]['allocations'], clock: FakeClock) {
    this.pass = (ms) => clock.pass(ms);
    this.advance = (ms) => clock.advance(ms);
    const caller = { uid: USER, gid: undefined, pid: undefined, startTime: undefined, source: 'peercred' } as const;
    this.#door = new GrpcDoor({
      clock: systemClock,
      accept: (stream: Socket) => ({
        ...{ caller, stream, slowDown: () => undefined, answered: () => undefined },
        cutOff: (why: string) => {
          this.cutOff.push(why);
          stream.destroy();
        },
      }),
      ...{ streams: 1000, maxRequestBytes: 65_536, unread: this.unread },
    });
    serveAllocator(this.#door, { allocations, pods: () => [], log: silentLog, ownUid: 0, isExact: true });
    this.#server = createServer(this.#door.take);
  }

  /** @param bytes what the plugin answers for each lease */
  static async open(leases: number, bytes = 60_000): Promise<Bed> {
    const machine = new FakeMachine();
    const long = { ...NO_ANSWER, envs: new Map([['LONG', 'x'.repeat(bytes)]]) };
    const ids = Array.from({ length: leases }, (_, index) => `g${String(index)}`);
    machine.offer(GPU, ...ids).allocate = () => Promise.resolve(long);
    const { allocations } = await allocationWorld(machine, { nextTurn });
    for (const key of ids) {
      const asked = request(GPU, { key });
      const given = await allocations.allocate(asked, { uid: USER, process: undefined }, new AbortController().signal);
      assert.ok(given.ok);
    }
    const bed = new Bed(allocations, machine.clock);
    allocations.cdiOf = () => {
      bed.made += 1;
      machine.clock.pass(bed.makingMs);
      return undefined;
    };
    await new Promise<void>((resolve) => bed.#server.listen(bed.socket, resolve));
    return bed;
  }

  /** A connection that never reads an answer. */
  deaf(): ClientHttp2Session {
    const session = http2.connect('http://localhost', {
      createConnection: () => connect(this.socket),
      settings: { initialWindowSize: 0 },
    });
    session.on('error', () => undefined);
    this.#sessions.push(session);
    return session;
  }

  close(): void {
    for (const session of this.#sessions) session.destroy();
    this.#door.destroy();
    this.#server.close();
  }
}

/** @param goesOn the request is not ended */
function call(session: ClientHttp2Session, method: string, message: Buffer, goesOn = false): ClientHttp2Stream {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/pluginbroker.v1.Allocator/${method}`,
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => undefined);
  stream.write(framed(message));
  if (!goesOn) stream.end();
  return stream;
}

function list(session: ClientHttp2Session): ClientHttp2Stream {
  return call(session, 'List', LeasePage.encode({ leases: [] }));
}

/** Waits until everything sent before has been handled on the other side. */
function pingOf(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    session.ping((failure) => (failure === null ? resolve() : reject(failure)));
  });
}

describe('answers that nobody reads', () => {
  it('end the connection on which most of them wait, once a user has too much of them, and no other one', async () => {
    const bed = await Bed.open(1);
    try {
      const [many, one] = [bed.deaf(), bed.deaf()];
      const renew = LeaseRef.encode({ key: 'g0' });
      call(one, 'Renew', renew);
      for (let count = 0; count < 100; count += 1) call(many, 'Renew', renew);
      await eventually('the answers wait', () => bed.unread.held > 5_000_000);
      assert.deepEqual([bed.cutOff, many.destroyed], [[], false]);
      for (let count = 0; count < 50; count += 1) call(many, 'Renew', renew);
      await eventually('the connection is cut off', () => many.destroyed);
      assert.match(
        bed.cutOff.join('\n'),
        /^uid 4001 left more than 8388608 bytes of answers unread, and \d{7} of them waited here$/,
      );
      assert.equal(one.destroyed, false);
      assert.ok(bed.unread.held < 100_000);
      one.destroy();
      await eventually('nothing waits', () => bed.unread.held === 0);
    } finally {
      bed.close();
    }
  });

  it('are given back once, when their call is reset, and those of other calls stay counted', async () => {
    const bed = await Bed.open(1);
    try {
      const session = bed.deaf();
      const renew = LeaseRef.encode({ key: 'g0' });
      call(session, 'Renew', renew);
      await eventually('one waits', () => bed.unread.held > 60_000);
      const one = bed.unread.held;
      for (let times = 0; times < 5; times += 1) {
        const reset = call(session, 'Renew', renew);
        await eventually('two wait', () => bed.unread.held > one);
        reset.close(http2.constants.NGHTTP2_CANCEL);
        await eventually('one is given back', () => bed.unread.held <= one);
        // The library tells that it was sent when its stream is taken down, a few turns later.
        await pingOf(session);
        assert.equal(bed.unread.held, one);
      }
      session.destroy();
      await eventually('nothing waits', () => bed.unread.held === 0);
    } finally {
      bed.close();
    }
  });

  it('stay counted as long as they wait, also where the rest of the request is refused again and again', async () => {
    const bed = await Bed.open(1);
    try {
      const session = bed.deaf();
      const attach = call(session, 'Attach', AttachRequest.encode({ lease: { key: 'g0' } }), true);
      await eventually('the lease waits', () => bed.unread.held > 60_000);
      const held = bed.unread.held;
      // A message that is longer than any that is taken: each further octet of it is a fault of its own.
      attach.write(Buffer.from([0, 1, 0, 0, 0]));
      await pingOf(session);
      attach.write(Buffer.alloc(1));
      await pingOf(session);
      await nextTurn();
      assert.equal(bed.unread.held, held);
      session.destroy();
      await eventually('nothing waits', () => bed.unread.held === 0);
    } finally {
      bed.close();
    }
  });

  it('are not those of somebody who reads, however many there are', async () => {
    const bed = await Bed.open(1);
    const client = new AllocClient(bed.socket);
    try {
      let bytes = 0;
      while (bytes < 2 * MOST_BYTES) {
        const renewed = await Promise.all(Array.from({ length: 20 }, () => client.renew({ key: 'g0' })));
        for (const { envs } of renewed) bytes += envs.get('LONG')?.length ?? 0;
      }
      assert.deepEqual([bed.cutOff, bed.unread.held], [[], 0]);
    } finally {
      client.close();
      bed.close();
    }
  });

  it('of a list are one page, whose next one is made when it has left', async () => {
    const bed = await Bed.open(40, 20_000);
    const client = new AllocClient(bed.socket);
    try {
      assert.equal((await client.list()).length, 40);
      bed.made = 0;
      const session = bed.deaf();
      list(session);
      await eventually('a page waits', () => bed.unread.held > 0);
      await nextTurn();
      assert.equal(bed.made, 4, '64 KiB are a page');
      assert.ok(bed.unread.held < 17 * 21_000, String(bed.unread.held));
    } finally {
      client.close();
      bed.close();
    }
  });

  it('of lists are made one page of a user at a time, in a tenth of the time, when many of them leave together', async () => {
    const bed = await Bed.open(4);
    try {
      const session = bed.deaf();
      const lists = Array.from({ length: 10 }, () => list(session));
      await eventually('a page of each waits', () => bed.made === lists.length * 2);
      bed.makingMs = 300;
      for (const one of lists) one.resume();
      session.settings({ initialWindowSize: 1_000_000 });
      session.setLocalWindowSize(100_000_000);
      await eventually('a page is made', () => bed.made > lists.length * 2);
      for (let times = 0; times < 10; times += 1) await pingOf(session);
      assert.equal(bed.made, lists.length * 2 + 2, 'two leases are a page, and took 600 ms of the time');
      await bed.advance(3_900);
      assert.equal(bed.made, lists.length * 2 + 2);
      await bed.advance(200);
      await eventually('another page is made', () => bed.made === lists.length * 2 + 4);
    } finally {
      bed.close();
    }
  });

  it('of lists keep no lease: the next page has none that ended meanwhile', async () => {
    const bed = await Bed.open(8);
    const client = new AllocClient(bed.socket);
    try {
      const session = bed.deaf();
      const one = list(session);
      await eventually('a page waits', () => bed.made === 2);
      for (const key of ['g2', 'g4', 'g5', 'g6', 'g7']) await client.release({ key });
      const [reader, keys]: [MessageReader, string[]] = [new MessageReader(MOST_BYTES), []];
      one.on('data', (bytes: Buffer) => {
        reader.add(bytes);
        for (let page = reader.next(); page !== undefined; page = reader.next())
          keys.push(...LeasePage.decode(page).leases.map(({ key }) => key));
      });
      session.settings({ initialWindowSize: 1_000_000 });
      await eventually('the list is complete', () => one.closed);
      assert.equal(bed.made, 3);
      assert.deepEqual(keys, ['g0', 'g1', 'g3']);
    } finally {
      client.close();
      bed.close();
    }
  });

  it('of lists are those of 64 lists of a user; a further one is refused until one has ended', async () => {
    const bed = await Bed.open(1);
    const client = new AllocClient(bed.socket);
    try {
      const session = bed.deaf();
      const lists = Array.from({ length: 64 }, () => list(session));
      await eventually('all wait', () => bed.made === lists.length);
      assert.equal(await refusalOf(client.list()), 'FLOOD_ALLOCATE');
      lists[0]?.close(http2.constants.NGHTTP2_CANCEL);
      await pingOf(session);
      assert.equal(await refusalOf(client.list()), 'given');
    } finally {
      client.close();
      bed.close();
    }
  });
});

describe('the answer to a user about its leases', () => {
  const ASKING = {
    List: (client: AllocClient) => client.list(),
    Renew: (client: AllocClient) => client.renew({ key: 'g0' }),
    Allocate: (client: AllocClient) => client.one(GPU, { key: 'g0' }),
    Attach: async (client: AllocClient) => {
      const { news, ended, cancel } = client.attach({ key: 'g0' });
      await Promise.race([ended, eventually('it is attached', () => news.length > 0)]);
      cancel();
    },
  };

  for (const [method, ask] of Object.entries(ASKING)) {
    it(`is told in a tenth of the time (${method}), as long as making it takes`, async () => {
      const bed = await Bed.open(1);
      const client = new AllocClient(bed.socket);
      try {
        bed.makingMs = 300;
        await ask(client);
        bed.makingMs = 0;
        assert.equal(await refusalOf(client.renew({ key: 'g0' })), 'FLOOD_ALLOCATE');
        bed.pass(1_100);
        assert.equal(await refusalOf(client.renew({ key: 'g0' })), 'given');
      } finally {
        client.close();
        bed.close();
      }
    });
  }
});
