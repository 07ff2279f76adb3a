import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../../src/kernel/random.js';
import { seededRandom } from './seeded-random.js';
import { BrokerProcess } from './broker-process.js';
import { FakePlugin, healthy } from './fake-plugin.js';
import { tempDir } from './temp-dir.js';

/** The known fate of a plugin: `in` and `out` were answered, `unsure` was under way when the broker died. */
type Known = 'in' | 'out' | 'unsure';

interface Subject {
  readonly name: string;
  known: Known;
  plugin: FakePlugin;
  busy: boolean;
  lives: number;
}

const SUBJECTS = 10;
/** Operations run at the same time. */
const WORKERS = 4;
/** The broker lives at most this long before it is killed, in milliseconds. */
const LONGEST_LIFE_MS = 250;

/**
 * Kills the broker again and again while plugins register, send lists and are de-registered, and checks after each
 * start: nothing acknowledged is lost, nothing is invented, nothing was found damaged.
 *
 * @param kills how many times
 * @param seed repeats the same choices (not the same timing)
 */
export async function killLoop(kills: number, seed: number): Promise<void> {
  const random = seededRandom(seed);
  const broker = new BrokerProcess(tempDir(), {
    flood: { mode: 'observe' },
    restart: { wipeSockets: 'never' },
    grace: { device: '10m' },
  });
  mkdirSync(broker.devicePlugins, { recursive: true });
  const subjects = await Promise.all(
    Array.from({ length: SUBJECTS }, async (_, index): Promise<Subject> => {
      const name = `example.com/k${String(index)}`;
      return { name, known: 'out', plugin: await serve(broker, name, 0), busy: false, lives: 0 };
    }),
  );
  try {
    for (let kill = 0; kill < kills; kill += 1) {
      await broker.start({ settled: false });
      await check(broker, subjects, kill);
      const halt = { isOver: false };
      const working = Array.from({ length: WORKERS }, () => work(broker, subjects, random, halt));
      await pause(random.next() * LONGEST_LIFE_MS);
      halt.isOver = true;
      await broker.end('SIGKILL');
      await Promise.all(working);
    }
    await broker.start();
    await check(broker, subjects, kills);
    assert.doesNotMatch(broker.log, /broker\.bug|checkpoint\.json\.corrupt/);
  } finally {
    await broker.close();
    await Promise.all(subjects.map(({ plugin }) => plugin.stop()));
  }
}

function serve(broker: BrokerProcess, resource: string, life: number): Promise<FakePlugin> {
  const socket = path.join(broker.devicePlugins, `${path.basename(resource)}-${String(life)}.sock`);
  return FakePlugin.start({ socket, resource, devices: healthy('a', 'b') });
}

async function work(
  broker: BrokerProcess,
  subjects: readonly Subject[],
  random: Random,
  halt: { isOver: boolean },
): Promise<void> {
  while (!halt.isOver) {
    const subject = subjects[Math.floor(random.next() * subjects.length)];
    if (subject === undefined || subject.busy) {
      await pause(1);
      continue;
    }
    subject.busy = true;
    try {
      await act(broker, subject, random);
    } finally {
      subject.busy = false;
    }
  }
}

async function act(broker: BrokerProcess, subject: Subject, random: Random): Promise<void> {
  const dice = random.next();
  if (subject.known !== 'in') {
    subject.known = 'unsure';
    const isIn = await subject.plugin.register(broker.kubeletSocket).then(
      () => true,
      () => false,
    );
    if (isIn) subject.known = 'in';
  } else if (dice < 0.7) {
    subject.plugin.setDevices(
      healthy(...Array.from({ length: 1 + Math.floor(dice * 40) }, (_, id) => `d${String(id)}`)),
    );
    await pause(2);
  } else {
    subject.known = 'unsure';
    const isOut = await broker.admin.deregister({ name: subject.name, type: '' }).then(
      () => true,
      () => false,
    );
    await subject.plugin.stop();
    subject.lives += 1;
    subject.plugin = await serve(broker, subject.name, subject.lives);
    if (isOut) subject.known = 'out';
  }
}

async function check(broker: BrokerProcess, subjects: readonly Subject[], kill: number): Promise<void> {
  const { checkpoint } = await broker.status();
  assert.ok(
    checkpoint.state === 'ok' || (checkpoint.state === 'empty' && subjects.every(({ known }) => known !== 'in')),
    `start ${String(kill)}: the checkpoint is ${checkpoint.state}: ${checkpoint.reason}`,
  );
  const plugins = await broker.plugins();
  const names = new Set(subjects.map(({ name }) => name));
  for (const { name } of plugins) assert.ok(names.has(name), `start ${String(kill)}: ${name} was invented`);
  for (const { name, known } of subjects) {
    const live = plugins.filter((one) => one.name === name && one.state !== 'gone' && one.state !== 'rejected');
    if (known === 'in') assert.ok(live.length > 0, `start ${String(kill)}: the acknowledged ${name} is lost`);
    if (known === 'out') assert.equal(live.length, 0, `start ${String(kill)}: ${name} was de-registered and is back`);
  }
}
