import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { ServiceError } from '@grpc/grpc-js';
import { UNKNOWN_USER, type Caller } from '../../../src/model/ids.js';
import { serveAllocator } from '../../../src/platform/grpc/alloc-service.js';
import { GrpcDoor } from '../../../src/platform/grpc/grpc-door.js';
import { procStat } from '../../../src/platform/process/proc-stat.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { AllocClient, refusalOf } from '../../support/alloc-client.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/silence.js';
import { tempDir } from '../../support/temp-dir.js';

const GPU = 'v/gpu';

/** The allocator of a machine with two devices on a socket, and a client. @param caller as the kernel shows it */
async function served(caller: Caller | undefined, isExact: boolean) {
  const machine = new FakeMachine();
  machine.offer(GPU, 'g0', 'g1');
  const { allocations } = await allocationWorld(machine);
  const answered: boolean[] = [];
  const accept = (stream: Socket) => ({
    ...{ caller, stream },
    ...{ slowDown: () => undefined, answered: (isAccepted: boolean) => void answered.push(isAccepted) },
  });
  const door = new GrpcDoor({ clock: systemClock, accept, streams: 8, maxRequestBytes: 65_536 });
  serveAllocator(door, { allocations, pods: () => [], log: silentLog, ownUid: 0, isExact });
  const socket = path.join(tempDir(), 'alloc.sock');
  const server = createServer(door.take);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  const client = new AllocClient(socket);
  const close = (): void => {
    client.close();
    door.destroy();
    server.close();
  };
  return { allocations, answered, client, close };
}

/** The outcomes of List, Release, Allocate and Attach. @param caller undefined: nothing is known of it */
async function outcomes(
  isExact: boolean,
  caller?: Caller,
): Promise<{ calls: unknown[]; leases: number; answered: boolean[] }> {
  const { allocations, answered, client, close } = await served(caller, isExact);
  const root = { uid: 0, process: undefined };
  await allocations.allocate(request(GPU, { key: 'k' }), root, new AbortController().signal);
  const codeOf = (call: Promise<unknown>): Promise<unknown> =>
    call.then(
      () => 'done',
      (failure: unknown) => (failure as ServiceError).code,
    );
  try {
    const calls = [await codeOf(client.list()), await codeOf(client.one(GPU, { key: 'other' }))];
    const attached = client.attach({ key: 'k' });
    if (calls[0] !== 'done') calls.push(await attached.ended);
    await eventually('Attach is answered', () => answered.length === 3);
    attached.cancel();
    calls.push(await codeOf(client.release({ key: 'k' })));
    return { calls, leases: allocations.leases().length, answered };
  } finally {
    close();
  }
}

describe('a caller of whom the kernel says nothing', () => {
  it('is nobody where the kernel can be asked, and no call of it is served', async () => {
    const { calls, leases, answered } = await outcomes(true);
    assert.deepEqual(
      answered,
      [false, false, false, false],
      'each counts as refused: a caller that goes on is slowed down',
    );
    assert.deepEqual([calls, leases], [[16, 16, 'the kernel does not say who calls', 16], 1]);
  });

  it('is nobody either where its user is one of many that are shown alike', async () => {
    const rest = {
      gid: 65534,
      pid: process.pid,
      startTime: procStat(process.pid)?.startTime,
      source: 'peercred',
    } as const;
    const { calls, leases } = await outcomes(true, { uid: UNKNOWN_USER, ...rest });
    assert.deepEqual([calls, leases], [[16, 16, 'the kernel does not say who calls', 16], 1]);
  });

  it('is the own user where it cannot: nobody else may open the socket then', async () => {
    const { calls, leases, answered } = await outcomes(false);
    assert.deepEqual(answered, [true, true, true, true]);
    assert.deepEqual([calls, leases], [['done', 'done', 'done'], 1]);
  });

  it('says itself which process it is where the kernel cannot be asked, and is not believed where it can', async () => {
    const owner = { bind: 'process', pid: process.pid };
    for (const [caller, isExact] of [
      [undefined, false],
      [{ uid: 0, gid: 0, pid: undefined, startTime: undefined, source: 'peercred' }, true],
    ] as const) {
      const { allocations, client, close } = await served(caller, isExact);
      assert.equal(await refusalOf(client.one(GPU, { owner })), isExact ? 'OWNER_NOT_SEEN' : 'given');
      assert.equal(await refusalOf(client.one(GPU, { owner: { ...owner, pid: 0x7fff_fff0 } })), 'OWNER_NOT_SEEN');
      const { startTime } = procStat(process.pid) ?? {};
      assert.deepEqual(
        allocations.leases().map((lease) => lease.owner.process),
        isExact ? [] : [{ pid: process.pid, startTime }],
      );
      close();
    }
  });
});
