import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Repeats } from '../../../src/journal/repeats.js';
import type { EventDraft } from '../../../src/model/event.js';
import { FakeClock } from '../../support/fake-clock.js';

function bench(): { readonly clock: FakeClock; readonly repeats: Repeats; readonly told: string[] } {
  const clock = new FakeClock();
  const told: string[] = [];
  const users = { ownUid: 0, userOf: (uid: number): number => uid };
  return { clock, told, repeats: new Repeats(clock, users, ({ message }) => told.push(message)) };
}

function refusal(message: string, plugin = 'DevicePlugin/a.b/c', reason = 'FLOOD_REGISTER'): EventDraft {
  return { type: 'refused', reason, plugin, uid: undefined, message };
}

describe('repeated events', () => {
  it('are told one by one when they are few', async () => {
    const { clock, repeats, told } = bench();
    for (const message of ['one', 'two', 'three']) repeats.offer(refusal(message));
    await clock.advance(10_000);
    repeats.offer(refusal('four'));
    assert.deepEqual(told, ['one', 'two', 'three', 'four']);
    assert.equal(clock.pending, 0);
  });

  it('are counted when they are many, and told together with the words of the last', async () => {
    const { clock, repeats, told } = bench();
    for (let index = 1; index < 420; index += 1) repeats.offer(refusal(`no ${index}`));
    assert.deepEqual(told, ['no 1', 'no 2', 'no 3']);
    await clock.advance(7_000);
    repeats.offer(refusal('no 420'));
    await clock.advance(3_000);
    assert.deepEqual(told.slice(3), ['no 420 (417 more in 10 s, the last at 00:00:07Z)']);
    assert.equal(clock.pending, 0);
  });

  it('of others who are refused in the name of a plugin are apart from its own', () => {
    const { repeats, told } = bench();
    for (let index = 1; index < 420; index += 1) repeats.offer({ ...refusal('of another'), facts: { by: 4001 } });
    repeats.offer(refusal('its own'));
    assert.deepEqual(told, ['of another', 'of another', 'of another', 'its own']);
    repeats.flush();
  });

  it('of leases of one user hide none of those of another', () => {
    const { repeats, told } = bench();
    const given = (uid: number, message: string): EventDraft => ({
      ...refusal(message, undefined, ''),
      type: 'allocated',
      uid,
    });
    for (let nth = 0; nth < 20; nth += 1) repeats.offer(given(4001, 'often'));
    for (const uid of [4002, 0]) repeats.offer(given(uid, `once to ${String(uid)}`));
    assert.deepEqual(told, ['often', 'often', 'often', 'once to 4002', 'once to 0']);
    repeats.flush();
  });

  it('of one ordinary user have a share, whatever names it makes, and those beyond are told together', async () => {
    const { clock, repeats, told } = bench();
    const refused = (nth: number, uid: number): EventDraft => ({
      ...{ type: 'refused', reason: 'ENDPOINT_TOO_LONG', socket: `/${String(uid)}/${String(nth)}`, uid },
      message: `${String(uid)}: ${String(nth)}`,
    });
    for (let nth = 0; nth < 5000; nth += 1) repeats.offer(refused(nth, 4001));
    assert.equal(told.length, 256);
    const plugin = 'DevicePlugin/a.b/c';
    repeats.offer({ type: 'registered', reason: 'registered', plugin, message: 'a change of state', uid: 4001 });
    for (const uid of [4002, 0]) repeats.offer(refused(1, uid));
    assert.deepEqual(told.slice(256), ['a change of state', '4002: 1', '0: 1']);
    await clock.advance(10_000);
    assert.deepEqual(told.slice(259), ['4001: 4999 (4744 more about uid 4001 in 10 s, the last at 00:00:00Z)']);
    for (let nth = 0; nth < 100; nth += 1) repeats.offer(refused(5000 + nth, 4001));
    assert.equal(told.length, 260 + 20, 'two a second come back');
    for (let nth = 0; nth < 5000; nth += 1) repeats.offer(refused(nth, 0));
    const ofRoot = told.filter((message) => message.startsWith('0: '));
    assert.equal(ofRoot.length, 1 + 5000, 'root has no share but all of it');
    repeats.flush();
    assert.equal(clock.pending, 0);
  });

  it('are bounded over any time: four in each ten seconds of a flood', async () => {
    const { clock, repeats, told } = bench();
    for (let ms = 0; ms < 60_000; ms += 5) {
      repeats.offer(refusal('again'));
      await clock.advance(5);
    }
    assert.ok(told.length <= 25, String(told.length));
    const counted = told.map(
      (message) => Number(/\((\d+) more/.exec(message)?.[1] ?? 0) + Number(!message.includes('(')),
    );
    repeats.flush();
    const last = told.slice(counted.length).map((message) => Number(/\((\d+) more/.exec(message)?.[1] ?? 0));
    assert.equal(
      [...counted, ...last].reduce((sum, count) => sum + count, 0),
      12_000,
      'not one is lost',
    );
  });

  it('of another plugin, type or reason are told', () => {
    const { repeats, told } = bench();
    for (let index = 0; index < 9; index += 1) repeats.offer(refusal('x'));
    repeats.offer(refusal('other plugin', 'DevicePlugin/a.b/d'));
    repeats.offer(refusal('other reason', undefined, 'NO_LISTENER'));
    repeats.offer({ ...refusal('other type'), type: 'flood' });
    assert.deepEqual(told.slice(3), ['other plugin', 'other reason', 'other type']);
  });

  it('that say neither plugin nor reason are told apart by their words', () => {
    const { repeats, told } = bench();
    for (const message of ['a', 'b', 'c', 'd', 'e', 'f']) repeats.offer({ type: 'broker', message });
    assert.equal(told.length, 6);
  });

  it('are told early when there are too many kinds of them', () => {
    const { clock, repeats, told } = bench();
    for (let index = 0; index < 10; index += 1) repeats.offer(refusal('first'));
    for (let index = 0; index < 2000; index += 1) repeats.offer(refusal('x', `DevicePlugin/a.b/n${index}`));
    assert.ok(told.includes('first (7 more in 1 s, the last at 00:00:00Z)'));
    assert.equal(clock.pending, 0);
  });

  it('are told when the journal is closed', () => {
    const { clock, repeats, told } = bench();
    for (let index = 0; index < 5; index += 1) repeats.offer(refusal('x'));
    repeats.flush();
    assert.deepEqual(told.slice(3), ['x (2 more in 1 s, the last at 00:00:00Z)']);
    assert.equal(clock.pending, 0);
  });

  it('that change the state of a plugin keep their order: the last one told is the last that happened', async () => {
    const { clock, repeats, told } = bench();
    const change = (message: string, reason: string): EventDraft => ({
      ...{ type: reason === 'registered' ? 'registered' : 'state', reason, plugin: 'DevicePlugin/a.b/c', message },
      uid: undefined,
    });
    for (let round = 0; round < 50; round += 1) {
      repeats.offer(change('ready', 'registered'));
      repeats.offer(change('held', 'connection-lost'));
    }
    repeats.offer(change('ready again', 'confirmed'));
    assert.equal(told.length, 12);
    await clock.advance(10_000);
    assert.deepEqual(told.slice(10), ['ready', 'held', 'ready again (89 more changes in 10 s, the last at 00:00:00Z)']);
    repeats.offer(change('gone', 'grace-over'));
    assert.equal(told.at(-1), 'gone');
  });
});
