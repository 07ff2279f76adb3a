import { after, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, linkSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type koffi from 'koffi';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { InstanceLock } from '../../../src/platform/store/held-lock.js';
import {
  acquireInstanceLock,
  isLockHeld,
  type LockOutcome,
  type LockPorts,
} from '../../../src/platform/store/instance-lock.js';
import { LateLock } from '../../../src/platform/store/late-lock.js';
import { loadLibc, type Libc } from '../../../src/platform/peer/libc.js';
import { throughGate } from '../../../src/platform/store/lock-file.js';
import { stayAwake } from '../../../src/platform/time/stay-awake.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { killedListener, noKilledListener } from '../../support/peer/killed-listener.js';
import { passDescriptor } from '../../support/peer/pass-descriptor.js';
import { refusesNone } from '../../support/peer/refuses-descriptors.js';
import { tempDir } from '../../support/temp-dir.js';

const PROGRAM = fileURLToPath(new URL('./lock-holder.js', import.meta.url));
/** Listens on an abstract name with room for two that wait, and may then do nothing any more. */
const SITS = `
  const [name, manner] = process.argv.slice(1);
  require('node:net').createServer((socket) => socket.destroy()).listen({ path: '\\0' + name, backlog: 1 }, () => {
    require('node:fs').writeSync(1, 'sits');
    if (manner !== 'answers') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;
/** Starters wait without keeping the process, which a program does for them. */
const sleepNow = stayAwake();
after(sleepNow);
/** The abstract name of the gate of a lock, without the zero that it begins with. */
function gateOf(lock: string): string {
  const { dev, ino } = statSync(path.dirname(lock), { bigint: true });
  return `plugin-broker-${String(dev)}-${String(ino)}`;
}

const children = new Set<ChildProcess>();
const locks = new Set<InstanceLock>();
after(async () => {
  for (const child of children) child.kill('SIGKILL');
  // Also those of a test that failed: a held lock would keep this process alive.
  for (const lock of locks) await lock.release();
});

interface Said {
  readonly kind: string;
  readonly message?: string;
  readonly reason?: string;
}

/** A process that asks for the lock. */
class Starter {
  readonly said: Said[] = [];
  readonly child: ChildProcess;

  constructor(folder: string, waitMs = 0, manner: 'polite' | 'takeover' = 'polite', askedMs = 0, lateMs = 100) {
    this.child = spawn(process.execPath, [PROGRAM, folder, String(waitMs), manner, String(askedMs), String(lateMs)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.add(this.child);
    assert.ok(this.child.stdout);
    createInterface({ input: this.child.stdout }).on('line', (line) => this.said.push(JSON.parse(line) as Said));
  }

  hears(kind: string): Promise<Said> {
    return eventually(`it says ${kind}`, () => this.said.find((said) => said.kind === kind));
  }

  outcome(): Promise<Said> {
    return eventually('it says what came of it', () =>
      this.said.find(({ kind }) => kind !== 'asked' && kind !== 'waits'),
    );
  }

  tell(line: string): void {
    this.child.stdin?.write(`${line}\n`);
  }

  async kill(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await gone;
    children.delete(this.child);
  }
}

const waits: string[] = [];

function portsOf(): LockPorts {
  const holder = (): { pid: number; phase: string } => ({ pid: process.pid, phase: 'ready' });
  const heard = { onTakeover: () => undefined, onWait: (message: string) => void waits.push(message) };
  return { clock: systemClock, random: { next: () => Math.random() }, holder, ...heard };
}

async function ask(folder: string, waitMs = 0, takeover = false, signal?: AbortSignal): Promise<LockOutcome> {
  const outcome = await acquireInstanceLock(folder, { waitMs, takeover }, portsOf(), signal);
  if (outcome.kind === 'held') locks.add(outcome.lock);
  return outcome;
}

async function held(folder: string): Promise<Extract<LockOutcome, { kind: 'held' }>> {
  const outcome = await ask(folder);
  assert.ok(outcome.kind === 'held', JSON.stringify(outcome));
  return outcome;
}

describe('the lock of a state folder', () => {
  it('is refused to a second broker in one sentence that names the holder', async () => {
    const folder = `${tempDir()}/state`;
    const first = await held(folder);
    const second = new Starter(folder, 10_000);
    const { kind, message } = await second.outcome();
    assert.equal(kind, 'refused');
    assert.equal(
      message,
      `another broker (pid ${String(process.pid)}, ready) holds ${folder}: stop it first, or start with --takeover`,
    );
    await first.lock.release();
    await second.kill();
  });

  it('makes the folder for us alone and leaves nothing but the lock in it', async () => {
    const folder = `${tempDir()}/state`;
    const { lock } = await held(folder);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    assert.deepEqual(readdirSync(folder), ['lock']);
    assert.equal(statSync(`${folder}/lock`).mode & 0o777, 0o600);
    await lock.release();
    await lock.release();
    assert.deepEqual(readdirSync(folder), []);
  });

  it('is seen to be held as long as its holder lives', async () => {
    const folder = `${tempDir()}/state`;
    assert.equal(await isLockHeld(folder, systemClock), false);
    const first = new Starter(folder, 0);
    assert.equal((await first.outcome()).kind, 'held');
    assert.equal(await isLockHeld(folder, systemClock), true);
    await first.kill();
    assert.equal(await isLockHeld(folder, systemClock), false);
  });

  it('is free as soon as its holder was killed', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    assert.equal((await first.outcome()).kind, 'held');
    await first.kill();
    assert.deepEqual(readdirSync(folder), ['lock'], 'the file of the dead is still there');
    const { lock } = await held(folder);
    await lock.release();
  });

  it('is waited for while its holder is stopping', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    first.tell('stopping');
    const second = new Starter(folder, 10_000);
    await eventually('the second waits', async () => {
      // It has asked, and was not refused.
      const outcome = await ask(folder);
      return outcome.kind === 'refused' && outcome.message.includes('after 0 s');
    });
    assert.deepEqual(second.said, []);
    first.tell('release');
    await second.hears('held');
    await second.kill();
  });

  it('is refused when its holder does not stop in time', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    first.tell('stopping');
    await eventually('the holder is stopping', async () => {
      const outcome = await ask(folder);
      return outcome.kind === 'refused' && outcome.message.includes('was asked to stop');
    });
    const outcome = await ask(folder, 300);
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.message, /^the broker with pid \d+ was asked to stop, but still holds .* after 0.3 s$/);
    await first.kill();
  });

  it('is given up to a successor that takes over', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    const second = new Starter(folder, 10_000, 'takeover');
    await second.hears('held');
    await first.hears('asked');
    await first.hears('released');
    const waits = second.said.filter(({ kind }) => kind === 'waits');
    assert.equal(waits.length, 1, 'it names once the process it waits for');
    const pid = String(first.child.pid);
    assert.match(waits[0]?.message ?? '', new RegExp(`^the broker with pid ${pid} .* this one waits 10 s for it$`));
    assert.deepEqual(readdirSync(folder), ['lock']);
    await second.kill();
  });

  it('is waited for as long as it takes once its holder was asked to go: there is no way back', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder, 0, 'polite', 0, 800);
    await first.hears('held');
    const second = new Starter(folder, 200, 'takeover', 60_000);
    assert.deepEqual(await second.outcome(), { kind: 'held' });
    await first.hears('released');
    const waits = second.said.filter(({ kind }) => kind === 'waits');
    assert.match(waits.at(-1)?.message ?? '', /this one waits 60 s for it$/);
    await second.kill();
  });

  it('is asked for until a holder that is overrun hears it, however late it is', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    first.child.kill('SIGSTOP');
    const second = new Starter(folder, 10_000, 'takeover', 60_000);
    const { message } = await second.hears('waits');
    assert.match(message ?? '', /does not answer; this one waits 10 s for it$/);
    first.child.kill('SIGCONT');
    assert.deepEqual(await second.outcome(), { kind: 'held' });
    await second.kill();
  });

  it('is not taken from a holder that is frozen, and the sentence says so', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    first.child.kill('SIGSTOP');
    const outcome = await ask(folder, 1500, true);
    assert.ok(outcome.kind === 'refused');
    assert.match(outcome.message, /holds .* but does not answer: look whether its process is stopped, and end it$/);
    assert.match(waits.at(-1) ?? '', /does not answer; this one waits 1.5 s for it$/);
    first.child.kill('SIGCONT');
    await first.kill();
  });

  it(
    'is taken from a holder that was killed and of which a thread is left that nothing ends',
    { skip: noKilledListener() },
    async () => {
      const folder = tempDir();
      children.add(await killedListener(path.join(folder, 'lock')));
      assert.equal(await isLockHeld(folder, systemClock), false);
      await new Starter(folder).hears('held');
    },
  );

  it('is held by exactly one of many that start at once, also over the file of a dead holder', async () => {
    const folder = `${tempDir()}/state`;
    for (let round = 0; round < 3; round += 1) {
      const starters = Array.from({ length: 6 }, () => new Starter(folder));
      const outcomes = await Promise.all(starters.map((starter) => starter.outcome()));
      assert.deepEqual(outcomes.map(({ kind }) => kind).sort(), ['held', ...Array<string>(5).fill('refused')]);
      assert.deepEqual(readdirSync(folder), ['lock']);
      await Promise.all(starters.map((starter) => starter.kill()));
    }
  });

  it('is held by exactly one of many requests at once in one process', async () => {
    const folder = `${tempDir()}/state`;
    for (let round = 0; round < 20; round += 1) {
      const outcomes = await Promise.all(Array.from({ length: 12 }, () => ask(folder)));
      const winners = outcomes.filter((outcome) => outcome.kind === 'held');
      assert.equal(winners.length, 1, JSON.stringify(outcomes));
      await winners[0]?.lock.release();
      if (round % 2 === 1) await leaveDeadSocket(`${folder}/lock`);
    }
    assert.deepEqual(readdirSync(folder), ['lock']);
  });

  it('is taken where something else lies in its place, and leftovers of starters are swept', async () => {
    const folder = `${tempDir()}/state`;
    mkdirSync(folder);
    writeFileSync(`${folder}/lock`, 'what is this');
    await leaveDeadSocket(`${folder}/.lock-1-a`);
    const { lock } = await held(folder);
    assert.deepEqual(readdirSync(folder), ['lock']);
    await lock.release();
  });

  it('never removes the lock of somebody else when it is released', async () => {
    const folder = `${tempDir()}/state`;
    const first = await held(folder);
    rmSync(`${folder}/lock`);
    const second = await held(folder);
    await first.lock.release();
    assert.equal((await ask(folder)).kind, 'refused');
    await second.lock.release();
  });

  it('cannot be had where the folder cannot be made, and that is told', async () => {
    const root = tempDir();
    writeFileSync(`${root}/state`, 'a file');
    const outcome = await ask(`${root}/state`);
    assert.ok(outcome.kind === 'unavailable');
    assert.match(outcome.reason, /^there is no lock on .*: EEXIST/);
  });

  it('is taken where a directory has its name, which is moved aside with what is in it', async () => {
    const folder = `${tempDir()}/state`;
    mkdirSync(`${folder}/lock/full`, { recursive: true });
    const { lock } = await held(folder);
    const aside = readdirSync(folder).find((name) => name.startsWith('lock.aside-'));
    assert.deepEqual(readdirSync(`${folder}/${aside ?? ''}`), ['full']);
    await lock.release();
  });

  it(
    'cannot be had by a user that may not enter the folder',
    { skip: process.getuid?.() === 0 ? 'root may' : false },
    async () => {
      const folder = `${tempDir()}/state`;
      mkdirSync(folder);
      chmodSync(folder, 0);
      assert.equal((await ask(folder)).kind, 'unavailable');
    },
  );

  it('has a gate that nobody passes while another starter is in it', { skip: refusesNone() }, async () => {
    const lock = `${tempDir()}/lock`;
    const first = await throughGate(lock, systemClock, async () => {
      assert.equal(await throughGate(lock, systemClock, () => Promise.resolve('second')), undefined);
      return 'first';
    });
    assert.equal(first, 'first');
    assert.equal(await throughGate(lock, systemClock, () => Promise.resolve('third')), 'third');
  });

  it('has a gate that takes no descriptors, which would hold the start up', { skip: refusesNone() }, async () => {
    const lock = `${tempDir()}/lock`;
    const how = await throughGate(lock, systemClock, () => {
      const stranger = net.connect(`\0${gateOf(lock)}`);
      stranger.on('error', () => undefined);
      const refused = passDescriptor(stranger, 0);
      stranger.destroy();
      return Promise.resolve(refused);
    });
    assert.equal(how, 'EPERM');
  });

  it(
    'has a gate to which nobody can connect where the kernel cannot refuse descriptors',
    { skip: loadLibc() === undefined && 'koffi is not installed' },
    async () => {
      const lock = `${tempDir()}/lock`;
      const libc = loadLibc()!;
      const old: Libc = Object.assign(Object.create(null) as Libc, {
        bound: (address: string) => libc.bound(address),
        close: (fd: number) => libc.close(fd),
        socketWithoutDescriptors: () => ({ error: 'ENOPROTOOPT' }),
      });
      const through = <T>(work: () => Promise<T>): Promise<T | undefined> => throughGate(lock, systemClock, work, old);
      const inside = await through(async () => {
        const stranger = net.connect(`\0${gateOf(lock)}`);
        const [failure] = (await once(stranger, 'error')) as [NodeJS.ErrnoException];
        // Another starter waits a little, and goes on.
        return [failure.code, await through(() => Promise.resolve('second'))];
      });
      assert.deepEqual(inside, ['ECONNREFUSED', 'second']);
    },
  );

  for (const manner of ['answers', 'lets its clients wait'] as const) {
    it(
      `is taken through a gate on whose name a stranger sits who ${manner}`,
      { skip: process.getuid?.() === 0 ? false : 'only root can run a process of a stranger' },
      async () => {
        const lock = `${tempDir()}/lock`;
        const name = gateOf(lock);
        const child = spawn(process.execPath, ['-e', SITS, name, manner], {
          stdio: ['ignore', 'pipe', 'inherit'],
          uid: 4001,
        });
        children.add(child);
        await once(child.stdout, 'data');
        const waiting = manner === 'answers' ? [] : [net.connect(`\0${name}`), net.connect(`\0${name}`)];
        await Promise.all(waiting.map((socket) => once(socket, 'connect')));
        assert.equal(await throughGate(lock, systemClock, () => Promise.resolve('taken')), 'taken');
        for (const socket of waiting) socket.destroy();
      },
    );
  }

  it(
    'is taken through a gate whose name somebody has who does not listen',
    { skip: loadLibc() === undefined && 'koffi is not installed' },
    async () => {
      const lock = `${tempDir()}/lock`;
      // struct sockaddr_un: the family (AF_UNIX), then the name, which begins with a zero. Node 20 fills it up with zeros.
      const name = Buffer.from(`\u0001\0\0${gateOf(lock)}`, 'latin1');
      const { load } = createRequire(import.meta.url)('koffi') as typeof koffi;
      const libc = load('libc.so.6');
      const taken = [name, Buffer.concat([name, Buffer.alloc(110 - name.length)])].map((address) => {
        const fd: unknown = libc.func('int socket(int, int, int)')(1, 1, 0);
        assert.equal(libc.func('int bind(int, void *, int)')(fd, address, address.length), 0);
        return fd;
      });
      try {
        assert.equal(await throughGate(lock, systemClock, () => Promise.resolve('taken')), 'taken');
      } finally {
        for (const fd of taken) libc.func('int close(int)')(fd);
      }
    },
  );

  it('is not held by a starter that gave up while waiting', async () => {
    const folder = `${tempDir()}/state`;
    const first = new Starter(folder);
    await first.hears('held');
    const giveUp = new AbortController();
    const waiting = ask(folder, 10_000, true, giveUp.signal);
    await first.hears('asked');
    giveUp.abort(new Error('enough'));
    await assert.rejects(waiting, /enough/);
    await first.hears('released');
    const { lock } = await held(folder);
    await lock.release();
  });

  it('is not asked for again while the disk has not answered the last time: each time would hold a thread', async () => {
    const folder = `${tempDir()}/state`;
    let answer = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (answer = resolve));
    const told: (string | undefined)[] = [];
    const outcome = { kind: 'unavailable', reason: 'it hangs', diskMs: 1500, hanging } as const;
    const lock = new LateLock(folder, portsOf(), outcome, (why) => told.push(why));
    locks.add(lock);
    assert.equal(await lock.look(), false);
    assert.equal(existsSync(folder), false, 'nothing was tried');
    answer();
    await hanging;
    await lock.look();
    assert.deepEqual(readdirSync(folder), ['lock']);
    assert.equal(told.at(-1), undefined);
  });

  it('answers nonsense with silence, and stays', async () => {
    const folder = `${tempDir()}/state`;
    const { lock } = await held(folder);
    for (const nonsense of ['\n', 'GET / HTTP/1.1\n', 'x'.repeat(10_000)]) {
      const socket = net.connect(`${folder}/lock`);
      socket.on('error', () => undefined);
      socket.write(nonsense);
      await once(socket, 'close');
    }
    const mute = net.connect(`${folder}/lock`);
    await once(mute, 'connect');
    const outcome = await ask(folder);
    assert.equal(outcome.kind, 'refused');
    await lock.release();
    await once(mute, 'close');
  });
});

/** A socket file on which nobody listens, as a killed process leaves it. */
async function leaveDeadSocket(file: string): Promise<void> {
  const server = net.createServer().listen(`${file}.x`);
  await once(server, 'listening');
  // Node removes the name it bound when it closes; under another name the file stays.
  linkSync(`${file}.x`, file);
  server.close();
  await once(server, 'close');
}
