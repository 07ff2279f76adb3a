// What a scenario says of what it saw, with a rig that only pretends: each judgement is made, and none in its place.
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
    return { ends: this.ends, written: 0, lastLine: () => this.words, output: () => '' };
  }

  close(): void {
    for (const socket of this.#sockets) socket.close();
  }
}

describe('a scenario of verify', () => {
  /** What comes of it: the code of the verdict. */
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
