// The verdicts of scenarios, with a rig that only pretends: each judgement is made, and none in its place.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { judge } from '../../../src/verify/judge.js';
import type { Rig } from '../../../src/verify/rig.js';
import type { Scenario } from '../../../src/verify/scenario.js';
import { hang } from '../../../src/verify/scenarios/hang.js';
import { notifyFalse } from '../../../src/verify/scenarios/notify-false.js';
import { restartClean } from '../../../src/verify/scenarios/restart-clean.js';
import { restartKill } from '../../../src/verify/scenarios/restart-kill.js';
import { sockOnly } from '../../../src/verify/scenarios/sock-only.js';
import { BrokerFault, Failed, Skipped } from '../../../src/verify/verdict.js';
import { tempDir } from '../../support/temp-dir.js';

const PLUGIN = { type: 'DevicePlugin', name: 'a.b/x', state: 'ready', isDurable: true };
const ENDED = { code: 1, signal: null, afterMs: 5, left: [] };

const orNothing = <T>(seen: T | undefined | false): T | undefined => (seen === false ? undefined : seen);

/** A plugin that does everything right, as far as a scenario looks; a test changes what it is about. */
class PretendedRig {
  plugins = [PLUGIN];
  isBack = true;
  lost: readonly string[] = [];
  dipped: string | undefined;
  calls = 1;
  fates: readonly string[] = ['denied', 'held'];
  ends: readonly object[] = [];
  written = 0;
  words = 'out of devices';
  known = { door: 'register', keys: new Set([`${PLUGIN.type}/${PLUGIN.name}`]) };
  readonly profile = 'broker';
  readonly directories: { devicePlugins: string; registry: string; kubeletSocket: string };
  readonly #sockets: Server[] = [];

  constructor() {
    const root = tempDir();
    this.directories = { devicePlugins: root, registry: root, kubeletSocket: path.join(root, 'kubelet.sock') };
  }

  readonly comeUp = async (): Promise<void> => undefined;
  readonly arrive = this.comeUp;
  readonly stopBroker = this.comeUp;
  readonly note = (): void => undefined;
  readonly startBroker = (): Promise<number> => Promise.resolve(systemClock.wall());
  readonly served = (): Promise<boolean> => Promise.resolve(this.isBack);
  readonly isServed = (): boolean => this.isBack;
  readonly isRenewed = (): boolean => false;
  readonly lostSockets = (): readonly string[] => this.lost;
  readonly dippedSince = (): string | undefined => this.dipped;
  readonly mostCallsSince = (): number => this.calls;
  readonly passed = (evidence: string): object => ({ code: 'ok', evidence });
  /** kubelet.sock is made again at once. */
  readonly pass = async (): Promise<void> => {
    const { kubeletSocket } = this.directories;
    if (existsSync(kubeletSocket)) return;
    const server = createServer();
    this.#sockets.push(server);
    await new Promise<void>((resolve) => server.listen(kubeletSocket, resolve));
  };
  readonly changes = {
    until: <T>(look: () => T | undefined | false): Promise<T | undefined> => Promise.resolve(orNothing(look())),
  };
  readonly broker = { kill: this.comeUp, isRunning: false };

  get witness(): object {
    return {
      mark: () => ({ calls: 0, pictures: 0 }),
      callsSince: () => this.fates.map((fate) => ({ fate })),
      span: () => undefined,
      timeline: () => [],
    };
  }

  get subject(): object {
    return { ends: this.ends, written: this.written, lastLine: () => this.words, output: () => '' };
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }
}

describe('a scenario of verify', () => {
  /** The code of the verdict. */
  async function outcome(scenario: Pick<Scenario, 'run'>, over: Partial<PretendedRig> = {}): Promise<string> {
    const rig = Object.assign(new PretendedRig(), over);
    try {
      const found = await scenario.run(rig as unknown as Rig);
      return typeof found === 'string' ? 'ok' : found.code;
    } catch (thrown) {
      if (thrown instanceof Failed || thrown instanceof Skipped) return thrown.code;
      if (thrown instanceof BrokerFault) return 'broker-fault';
      throw thrown;
    } finally {
      rig.close();
    }
  }

  const cases: [name: string, scenario: Scenario, judgements: [over: Partial<PretendedRig>, code: string][]][] = [
    [
      'restart-clean',
      restartClean,
      [
        [{ plugins: [{ ...PLUGIN, state: 'held' }] }, 'never-back'],
        [{ plugins: [] }, 'never-back'],
        [{ isBack: false }, 'no-healthy-device'],
      ],
    ],
    [
      'sock-only',
      sockOnly,
      [
        [{ isBack: false }, 'never-back'],
        [{ dipped: 'a.b/x' }, 'dipped'],
        [{ calls: 2 }, 'storm'],
      ],
    ],
    [
      'restart-kill',
      restartKill,
      [
        [{ plugins: [{ ...PLUGIN, isDurable: false }] }, 'broker-fault'],
        [{ plugins: [] }, 'broker-fault'],
        [{ isBack: false }, 'never-back'],
        [{ calls: 6 }, 'storm'],
        [{ lost: ['a.b/x'] }, 'socket-lost'],
      ],
    ],
    [
      'notify-false',
      notifyFalse,
      [
        [{ fates: [] }, 'never-back'],
        [{ isBack: false }, 'never-back'],
      ],
    ],
    [
      'hang',
      hang,
      [
        [{ fates: [] }, 'never-back'],
        [{ ends: [ENDED] }, 'crashed'],
        [{ isBack: false }, 'never-back'],
      ],
    ],
  ];
  for (const [name, scenario, judgements] of cases) {
    it(`${name} passes what does everything right, and says what is wrong with the others`, async () => {
      assert.equal(await outcome(scenario), 'ok');
      for (const [over, code] of judgements)
        assert.equal(await outcome(scenario, over), code, Object.keys(over).join());
    });
  }

  it('notify-false fails what exits without a word, and passes what says why', async () => {
    const exits = (words: string): Promise<string> => {
      const ends: object[] = [];
      const served = (): Promise<boolean> => {
        ends.push({ ...ENDED, code: 0 });
        return Promise.resolve(false);
      };
      return outcome(notifyFalse, { ends, words, served });
    };
    assert.deepEqual([await exits(''), await exits('not registered')], ['crashed', 'ok']);
  });

  it('restart-kill fails what is served again and does not stay', async () => {
    let asked = 0;
    const served = (): Promise<boolean> => Promise.resolve(++asked < 4);
    assert.equal(await outcome(restartKill, { served }), 'never-back');
  });

  it('says nothing of a plugin whose broker was at fault', async () => {
    const scenario = {
      name: 'hang',
      run: () => Promise.reject(new BrokerFault('it did not start')),
    } as unknown as Scenario;
    const { verdict, code, evidence } = await judge(scenario, new PretendedRig() as unknown as Rig);
    assert.deepEqual([verdict, code], ['skipped', 'broker-fault']);
    assert.match(evidence, /the broker was at fault: it did not start/);
  });

  it('says nothing of a plugin when a well-behaved one is not taken in either', async () => {
    const order = (): void => undefined;
    const broken = Object.assign(new PretendedRig(), { broker: { isRunning: true, order } });
    broken.directories.devicePlugins = '/nowhere';
    const scenario = {
      name: 'hang',
      run: () => Promise.reject(new Failed('storm', 'it called')),
    } as unknown as Scenario;
    const { verdict, code } = await judge(scenario, broken as unknown as Rig);
    assert.deepEqual([verdict, code], ['skipped', 'broker-fault']);
  });
});

describe('a verdict', () => {
  const failing = (): Promise<never> => Promise.reject(new Failed('storm', 'it called'));
  const passing = (): Promise<string> => Promise.resolve('it came back');

  /** Judged by what a broker that runs shows of itself: in time, late, or not at all. */
  async function judged(
    run: () => Promise<string>,
    prove: () => Promise<boolean>,
    over: object = {},
  ): Promise<{ verdict: string; code: string; evidence: string; orders: readonly string[] }> {
    const orders: string[] = [];
    const order = ([{ kind }]: readonly [{ kind: string }]): void => void orders.push(kind);
    const proof = (): Promise<boolean> => {
      orders.push('proof');
      return prove();
    };
    const rig = Object.assign(new PretendedRig(), { broker: { isRunning: true, order } }, over);
    const scenario = { name: 'hang', run } as unknown as Scenario;
    const { verdict, code, evidence } = await judge(scenario, rig as unknown as Rig, proof);
    return { verdict, code, evidence, orders };
  }
  const inTime = (): Promise<boolean> => Promise.resolve(true);
  const late = (): Promise<boolean> => Promise.resolve(false);

  it('stands when the broker was fine, which is asked of it with nothing left of the scenario', async () => {
    assert.deepEqual(await judged(failing, inTime), {
      verdict: 'failed',
      code: 'storm',
      evidence: 'it called',
      orders: ['none', 'proof'],
    });
    const { verdict, evidence } = await judged(passing, inTime);
    assert.deepEqual([verdict, evidence], ['passed', 'it came back']);
  });

  it('is not passed on against a plugin on a machine that was too busy, and for one it is', async () => {
    const { verdict, code, evidence } = await judged(failing, late);
    assert.deepEqual([verdict, code], ['skipped', 'machine-busy']);
    assert.match(evidence, /having seen: it called$/);
    assert.equal((await judged(passing, late)).verdict, 'passed');
  });

  it('is none when the broker fails a well-behaved plugin, also of one that passed', async () => {
    const broken = (): Promise<never> => Promise.reject(new BrokerFault('it was not taken in'));
    for (const run of [failing, passing]) assert.equal((await judged(run, broken)).code, 'broker-fault');
  });

  it('of a broker that runs no more is not asked of it', async () => {
    const { verdict, orders } = await judged(failing, inTime, { broker: { isRunning: false } });
    assert.deepEqual([verdict, orders], ['failed', []]);
  });

  it('says what nobody has told: ends, and output without measure', async () => {
    const evidenceOf = async (over: object, run: () => Promise<string> = passing): Promise<string> =>
      (await judged(run, inTime, over)).evidence;
    assert.match(await evidenceOf({ ends: [ENDED] }), /^it came back \(it ended by itself once/);
    assert.match(await evidenceOf({ written: 20_000_000 }), /\(it wrote 20 MB, of which the end is kept\)$/);
    const skipping = (): Promise<never> => Promise.reject(new Skipped('it has no such door'));
    assert.equal(await evidenceOf({ ends: [ENDED] }, skipping), 'it has no such door');
  });

  it('is not made of what went wrong in the program itself', async () => {
    const bug = new TypeError('a bug');
    await assert.rejects(
      judged(() => Promise.reject(bug), inTime),
      bug,
    );
    await assert.rejects(
      judged(passing, () => Promise.reject(bug)),
      bug,
    );
  });
});
