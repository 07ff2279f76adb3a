import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusalSummary } from '../../../src/flood/refusal-summary.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordedLog } from '../../support/recorders.js';

class World {
  readonly clock = new FakeClock();
  readonly kept = new RecordedLog();
  readonly log = new RefusalSummary(this.kept, this.clock, { ownUid: 0, userOf: (uid) => uid - (uid % 10) });

  refuse(message: string, plugin = 'DevicePlugin/a/b', uid = 0): void {
    const fields = { code: 'FLOOD_REGISTER', plugin, uid, socket: `/x/${message}.sock` };
    this.log.warn('registration.refused', message, fields);
  }

  get told(): readonly string[] {
    return this.kept.lines.map((line) => line.message);
  }
}

describe('refusal summary', () => {
  it('tells the first in full and the others as one line with their number', async () => {
    const world = new World();
    for (let call = 0; call <= 417; call += 1) world.refuse(`call ${call}`);
    assert.deepEqual(world.told, ['call 0']);
    await world.clock.advance(10_000);
    assert.deepEqual(world.told, ['call 0', '417 more in 10 s, the last: call 417']);
    assert.equal(world.kept.lines[1]?.fields?.['socket'], '/x/call 417.sock');
  });

  it('tells a flood that goes on less and less often', async () => {
    const world = new World();
    for (let second = 0; second < 3_600; second += 1) {
      world.refuse('again');
      await world.clock.advance(1_000);
    }
    assert.ok(world.told.length < 20, `${world.told.length} lines in an hour`);
    assert.match(world.told.at(-1) ?? '', /^300 more in 300 s/);
  });

  it('tells one in full again once a window passed without', async () => {
    const world = new World();
    world.refuse('one');
    await world.clock.advance(10_000);
    world.refuse('two');
    assert.deepEqual(world.told, ['one', 'two']);
  });

  it('counts plugins, codes and uids apart', () => {
    const world = new World();
    world.refuse('one');
    world.refuse('two', 'DevicePlugin/a/c');
    world.refuse('three', 'DevicePlugin/a/b', 1000);
    world.log.warn('registration.refused', 'four', { code: 'NAME_INVALID', plugin: 'DevicePlugin/a/b', uid: 0 });
    assert.deepEqual(world.told, ['one', 'two', 'three', 'four']);
  });

  it('tells of other lines about an ordinary user its share, and sums up the rest by their kind', async () => {
    const world = new World();
    const say = (uid: number, event = 'plugin.state-changed'): void => world.log.info(event, `of ${uid}`, { uid });
    for (let line = 0; line < 1000; line += 1) say(4000 + (line % 10));
    for (let line = 0; line < 1000; line += 1) say(0);
    say(4011);
    say(4001, 'flood.quarantine-ended');
    const counts = new Map<string, number>();
    for (const { fields } of world.kept.lines) {
      const of = Math.floor(Number(fields?.['uid']) / 10);
      counts.set(String(of), (counts.get(String(of)) ?? 0) + 1);
    }
    assert.deepEqual(
      [...counts],
      [
        ['400', 514],
        ['0', 1000],
        ['401', 1],
      ],
    );
    await world.clock.advance(10_000);
    assert.match(world.told.at(-1) ?? '', /^487 more in 10 s, the last: of 40\d\d$/);
    await world.clock.advance(300_000);
    const { length } = world.told;
    say(4001);
    assert.equal(world.told.length, length + 1);
  });

  it('leaves the other levels alone, and warnings that are no refusals', async () => {
    const world = new World();
    for (let time = 0; time < 3; time += 1) {
      world.log.error('x', 'error', { code: 'A' });
      world.log.warn('x', 'warning', { plugin: 'DevicePlugin/a/b' });
      world.log.info('x', 'info', { code: 'A' });
      world.log.debug('x', 'debug');
    }
    await world.clock.advance(10_000);
    assert.equal(world.kept.lines.length, 12);
    assert.equal(world.log.size, 0);
  });

  it('stays bounded under 10,000 names, and loses none of the counts', async () => {
    const world = new World();
    for (let name = 0; name < 10_000; name += 1) world.refuse(`name ${name}`, `DevicePlugin/a/${name}`);
    assert.ok(world.log.size <= 513 && world.clock.pending <= 513);
    const inFull = world.told.length;
    await world.clock.advance(10_000);
    const summed = world.told[inFull];
    assert.equal(inFull + Number(summed?.split(' ')[0]), 10_000);
    await world.clock.advance(20_000);
    assert.equal(world.log.size, 0);
    assert.equal(world.clock.pending, 0);
  });

  it('tells refusals of others in full, however many names one user invents', async () => {
    const world = new World();
    // By all uids that the user has.
    const invented = (): void => {
      for (let name = 0; name < 10_000; name += 1)
        world.refuse('no', `DevicePlugin/a/${String(name)}`, 4000 + (name % 10));
    };
    invented();
    await world.clock.advance(10_000);
    invented();
    const before = world.told.length;
    for (let plugin = 0; plugin < 100; plugin += 1)
      world.refuse(`of root ${String(plugin)}`, `DevicePlugin/r/${String(plugin)}`);
    assert.equal(world.told.length, before + 100);
    world.log.close();
  });

  it('tells what it has counted when it is closed, and leaves no timer', () => {
    const world = new World();
    world.refuse('one');
    world.refuse('two');
    world.log.close();
    assert.deepEqual(world.told, ['one', '1 more in 10 s, the last: two']);
    assert.equal(world.clock.pending, 0);
  });
});
