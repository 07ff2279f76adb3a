import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PluginPicture } from '../../../src/model/fault-port.js';
import { Witness } from '../../../src/verify/witness.js';

const OURS = 'DevicePlugin/verify/probe';
const plugin = (name: string, allocatable = 1): PluginPicture => ({
  ...{ type: 'DevicePlugin', name, door: 'register', state: 'ready', reason: 'registered', incarnation: '1:2:3' },
  ...{ socket: '/k/a.sock', pid: 1, capacity: 2, allocatable, isListed: true, isDurable: true },
});
const EVENT = { time: '', seq: 1, type: 'state', reason: '', plugin: '', socket: '' } as const;
const picture = (at: number, ...plugins: PluginPicture[]) => ({ kind: 'picture', at, plugins }) as const;
const call = (at: number, name: string) =>
  ({ kind: 'call', at, door: 'register', type: 'DevicePlugin', name, fate: 'passed', heldMs: 0 }) as const;
const event = (at: number, message: string, over = {}) =>
  ({ kind: 'event', at, event: { ...EVENT, message, ...over } }) as const;

describe('a witness', () => {
  it('tells what happened since a mark, and what was true at it', () => {
    const witness = new Witness([OURS, '.probe.sock'], () => undefined);
    witness.take(call(1, 'a'));
    witness.take(picture(2, plugin('a')));
    const mark = witness.mark();
    witness.take(picture(3, plugin('a', 0)));
    witness.take(call(4, 'a'));
    witness.take(call(5, 'b'));
    assert.deepEqual(
      witness.picturesSince(mark).map(({ at }) => at),
      [2, 3],
    );
    assert.deepEqual(
      witness.callsSince(mark).map(({ at }) => at),
      [4, 5],
    );
    assert.deepEqual(
      witness.callsSince(mark, 'DevicePlugin/a').map(({ at }) => at),
      [4],
    );
  });

  it('does not take the plugin of verify for one that is judged', () => {
    const witness = new Witness([OURS, '.probe.sock'], () => undefined);
    witness.take(call(1, 'verify/probe'));
    witness.take(event(1, 'the probe is ready', { plugin: OURS }));
    witness.take(picture(2, plugin('verify/probe'), plugin('a')));
    assert.deepEqual(
      witness.plugins.map(({ name }) => name),
      ['a'],
    );
    assert.equal(witness.own?.name, 'verify/probe');
    assert.deepEqual([witness.callsSince({ calls: 0, pictures: 0 }), witness.timeline()], [[], []]);
  });

  it('knows of no plugin when another broker begins', () => {
    const witness = new Witness([OURS, '.probe.sock'], () => undefined);
    witness.take(picture(1, plugin('a')));
    witness.newLife();
    assert.deepEqual(witness.plugins, []);
  });

  it('keeps as many pictures of many plugins as have room, and the newest', () => {
    const witness = new Witness([OURS, '.probe.sock'], () => undefined);
    const many = Array.from({ length: 1000 }, (_, nth) => plugin(`p${String(nth)}`));
    for (let at = 0; at < 1000; at += 1) witness.take(picture(at, ...many));
    const kept = witness.picturesSince({ calls: 0, pictures: 0 });
    assert.deepEqual([kept.length, kept[0]?.at, kept.at(-1)?.at], [100, 0, 999]);
  });

  it('keeps the beginning and the end of a long story, and says what is between', () => {
    const witness = new Witness([OURS, '.probe.sock'], () => undefined);
    for (let at = 0; at < 1000; at += 1) witness.take(event(at, `moment ${String(at)}`));
    const told = witness.timeline().map(({ what }) => what);
    assert.equal(told.length, 301);
    assert.deepEqual(
      [told[0], told[99], told[100], told[101], told[300]],
      ['moment 0', 'moment 99', '… 700 moments are left out here', 'moment 800', 'moment 999'],
    );
  });

  it('says each phase once, reasons with their events, and notes as they are made', () => {
    const notes: string[] = [];
    const witness = new Witness([OURS, '.probe.sock'], (what) => void notes.push(what));
    for (const at of [1, 2]) witness.take({ kind: 'phase', at, phase: 'ready' });
    witness.take(event(3, 'a was refused', { type: 'refused', reason: 'NO_LISTENER' }));
    witness.note('verify', 'stopped it');
    witness.note('plugin', 'started');
    assert.deepEqual(
      witness.timeline().map(({ who, what }) => `${who}: ${what}`),
      ['broker: is ready', 'broker: a was refused [NO_LISTENER]', 'verify: stopped it', 'plugin: started'],
    );
    assert.deepEqual([notes, witness.lastRefusal], [['stopped it'], 'a was refused']);
  });
});
