// The rules that are shipped, each with a plugin that behaves as the one it names. KubeVirt has a test of its own, too.
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { compileGlob } from '../../src/platform/config/globs.js';
import { shippedRules } from '../../src/config/shipped-rules.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { MANNERS, NamedPlugin } from '../support/named-plugins.js';
import { tempDir } from '../support/temp-dir.js';

const RESTARTS = 10;
const DEVICES = 3;

/** Kinds of a restart of the registry; `isWhole`: plugins see more of it than a new kubelet.sock. */
const KINDS: readonly [what: string, restart: (broker: BrokerProcess) => Promise<void>, isWhole: boolean][] = [
  ['kill -9', (broker) => again(broker, 'SIGKILL'), true],
  ['SIGTERM', (broker) => again(broker, 'SIGTERM'), true],
  ['serve --takeover', (broker) => broker.start({ args: ['--takeover'] }), true],
  ['a new kubelet.sock', (broker) => rm(broker.kubeletSocket), false],
];

async function again(broker: BrokerProcess, signal: NodeJS.Signals): Promise<void> {
  await broker.end(signal);
  await broker.start();
}

describe('the plugins that the shipped rules name', () => {
  const plugins: NamedPlugin[] = [];
  let broker: BrokerProcess;
  before(async () => {
    broker = new BrokerProcess(tempDir());
    await broker.start();
    for (const manner of MANNERS) plugins.push(await NamedPlugin.start(manner, broker.devicePlugins));
    await served();
  });
  after(async () => {
    await Promise.all(plugins.map((plugin) => plugin.stop()));
    await broker.close();
  });

  /** Every plugin lives, and its resource is ready with so many healthy devices. */
  const served = async (allocatable = DEVICES): Promise<void> => {
    let last = new Map<string, unknown>();
    await eventually(
      `all ${String(MANNERS.length)} serve ${String(allocatable)}`,
      async () => {
        const counts = (last = await broker.counts());
        return MANNERS.every(({ resource }) => {
          const found = counts.get(resource);
          return found?.state === 'ready' && found.allocatable === allocatable;
        });
      },
      { everyMs: 50 },
    ).catch((error: unknown) => {
      const deaths = plugins.map(({ manner, death }) => `${manner.who}: ${death ?? 'alive'}`);
      throw new Error([...deaths, JSON.stringify([...last]), broker.log.slice(-8000)].join('\n'), { cause: error });
    });
  };
  const healthIsFollowed = async (): Promise<void> => {
    for (const allocatable of [DEVICES - 1, DEVICES]) {
      for (const plugin of plugins) plugin.flip();
      await served(allocatable);
    }
  };

  it('are at least one for each rule', () => {
    for (const rule of shippedRules) {
      const isMatched = MANNERS.some(({ resource, file }) =>
        'name' in rule.match
          ? compileGlob(rule.match.name, 'name')(resource)
          : compileGlob(rule.match.socket, 'socket')(path.join(broker.devicePlugins, file(1))),
      );
      assert.ok(isMatched, JSON.stringify(rule));
    }
  });

  for (const [what, restart, isWhole] of KINDS) {
    it(`are served, and their health followed, after each of ten restarts by ${what}`, async () => {
      await healthIsFollowed();
      for (let nth = 1; nth <= RESTARTS; nth += 1) {
        const before = plugins.map(({ registered }) => registered);
        await restart(broker);
        for (const [index, plugin] of plugins.entries()) {
          const notices = isWhole || plugin.manner.restartsOn === 'kubelet-socket';
          if (!notices) continue;
          await eventually(
            `${plugin.manner.who} registered after restart ${String(nth)}`,
            () => plugin.registered === (before[index] ?? 0) + 1,
            { withinMs: 20_000 }, // kubelet.sock is made again five times in ten seconds
          ).catch((error: unknown) => {
            throw new Error(`${plugin.death ?? 'alive'}\n${broker.log.slice(-8000)}`, { cause: error });
          });
        }
        await served();
        await healthIsFollowed();
      }
      assert.deepEqual(
        plugins.map(({ death }) => death),
        MANNERS.map(() => undefined),
      );
    });
  }
});
