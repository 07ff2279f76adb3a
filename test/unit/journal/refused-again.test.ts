import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusedAgain } from '../../../src/journal/refused-again.js';
import type { EventDraft } from '../../../src/model/event.js';
import { FakeClock } from '../../support/fake-clock.js';

const PLUGIN = 'DevicePlugin/example.com/x';
type Given = Partial<Omit<EventDraft, 'plugin' | 'uid'>> & { readonly plugin?: string; readonly uid?: number };
const refusal = (given: Given = {}): EventDraft => ({
  ...{ type: 'refused', reason: 'VERSION_UNSUPPORTED', plugin: PLUGIN, socket: '/r/x.sock', message: 'v9 is not' },
  uid: undefined,
  ...given,
});

class Bed {
  readonly clock = new FakeClock();
  readonly passed: EventDraft[] = [];
  readonly refused = new RefusedAgain({ record: (event) => void this.passed.push(event) }, this.clock, {
    ownUid: 500,
    userOf: (uid) => (uid >= 100_000 ? 4001 : uid),
  });

  refuse(times: number, given: Given = {}): void {
    for (let at = 0; at < times; at += 1) this.refused.record(refusal(given));
  }

  get shown(): readonly string[] {
    return this.refused
      .views()
      .map(({ plugin, socket, refusals }) => `${plugin === '' ? socket : plugin} ${String(refusals)}`);
  }
}

describe('a plugin that is refused', () => {
  it('is shown from the third refusal in a row, and every event is passed on', () => {
    const bed = new Bed();
    bed.refuse(2);
    assert.deepEqual(bed.shown, []);
    bed.refuse(1);
    assert.deepEqual(bed.shown, [`${PLUGIN} 3`]);
    assert.equal(bed.passed.length, 3);
  });

  it('has given up in time, although the wall clock was set back', async () => {
    const bed = new Bed();
    bed.refuse(3);
    bed.clock.stepWall(-3_600_000);
    await bed.clock.advance(11 * 60_000);
    assert.deepEqual(bed.shown, []);
  });

  it('is not shown any more once it came in, or has given up', async () => {
    for (const came of [{ type: 'registered' } as const, { type: 'state', reason: 'confirmed' } as const]) {
      const bed = new Bed();
      bed.refuse(5);
      bed.refused.record({ plugin: PLUGIN, uid: undefined, message: 'in', ...came });
      assert.deepEqual(bed.shown, []);
    }
    const bed = new Bed();
    bed.refuse(5);
    await bed.clock.advance(11 * 60_000);
    assert.deepEqual(bed.shown, []);
    bed.refuse(2);
    assert.deepEqual(bed.shown, [], 'it begins anew');
  });

  it('goes on saying what is wrong when it is only told to wait since then', () => {
    const bed = new Bed();
    const shown = (): unknown => bed.refused.views().map(({ reason, message }) => [reason, message]);
    bed.refuse(3, { reason: 'FLOOD_REGISTER', message: 'too often' });
    assert.deepEqual(shown(), [['FLOOD_REGISTER', 'too often']]);
    bed.refuse(1);
    bed.refuse(2, { reason: 'QUARANTINED', message: 'kept out' });
    assert.deepEqual(shown(), [['VERSION_UNSUPPORTED', 'v9 is not']]);
  });

  it('is told from others, by its socket where nobody knows its name', () => {
    const bed = new Bed();
    bed.refuse(3, { plugin: '', socket: '/r/a.sock' });
    bed.refuse(3, { plugin: '', socket: '/r/b.sock' });
    assert.deepEqual(bed.shown, ['/r/b.sock 3', '/r/a.sock 3'], 'the newest first');
  });

  it('of one ordinary user has a quarter of the screen and of what is counted', () => {
    const bed = new Bed();
    for (let at = 0; at < 100; at += 1) bed.refuse(3, { plugin: `root.com/${String(at)}`, uid: 0 });
    for (let at = 0; at < 2000; at += 1) bed.refuse(3, { plugin: `evil.com/${String(at)}`, uid: 4001 });
    const evil = bed.shown.filter((row) => row.startsWith('evil'));
    assert.deepEqual([evil.length, bed.shown.length, evil[0]], [25, 100, 'evil.com/1999 3']);
    for (let at = 0; at < 50; at += 1) bed.refuse(3, { plugin: `own.com/${String(at)}`, uid: 500 });
    assert.equal(bed.shown.filter((row) => row.startsWith('own')).length, 50);
  });

  it('by many uids of one ordinary user has no more of either', () => {
    const bed = new Bed();
    for (let at = 0; at < 500; at += 1) bed.refuse(3, { plugin: `other.com/${String(at)}`, uid: 4002 });
    for (let at = 0; at < 2000; at += 1) bed.refuse(3, { plugin: `evil.com/${String(at)}`, uid: 100_000 + at });
    assert.deepEqual(
      ['evil', 'other'].map((who) => bed.shown.filter((row) => row.startsWith(who)).length),
      [25, 25],
    );
  });

  it('stays on the screen when somebody else calls in its name and then invents more', () => {
    const bed = new Bed();
    bed.refuse(3, { plugin: 'root.com/x', uid: 0 });
    bed.refuse(3, { plugin: 'root.com/x', uid: 4001 });
    for (let at = 0; at < 2000; at += 1) bed.refuse(3, { plugin: `evil.com/${String(at)}`, uid: 4001 });
    assert.ok(bed.shown.includes('root.com/x 6'));
  });

  it('is kept with texts that are cut by what they take where they are written', () => {
    const bed = new Bed();
    const long = '\u0001'.repeat(70_000);
    bed.refuse(3, { plugin: long, socket: long, message: long });
    const [one] = bed.refused.views();
    assert.deepEqual([one?.plugin.length, one?.socket.length, one?.message.length], [42, 42, 170]);
  });

  it('does not fill memory or screen with names that it invents', () => {
    const bed = new Bed();
    for (let at = 0; at < 2000; at += 1) bed.refuse(3, { plugin: `DevicePlugin/example.com/${String(at)}` });
    assert.equal(bed.shown.length, 100);
    assert.equal(bed.shown[0], 'DevicePlugin/example.com/1999 3');
  });
});
