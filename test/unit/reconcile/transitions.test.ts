import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PLUGIN_STATES } from '../../../src/model/plugin.js';
import { Roster } from '../../../src/reconcile/roster.js';
import { MAY_BECOME } from '../../../src/reconcile/transitions.js';
import { FakeClock } from '../../support/fake-clock.js';
import { CoreWorld } from '../../support/core-world.js';

describe('a change that the table of transitions does not allow', () => {
  /** A plugin that waits for its first answer, in a roster that tells of illegal changes as `illegal` says. */
  function restoredIn(illegal?: (message: string) => void): { roster: Roster; id: string } {
    const world = new CoreWorld();
    const one = world.start('a');
    world.restore(one);
    const instance = world.of(one);
    assert.ok(instance);
    const roster = new Roster(new FakeClock(), { ownUid: 0, userOf: (uid) => uid }, illegal);
    roster.restore(instance);
    return { roster, id: instance.id };
  }

  it('is an error in tests', () => {
    const { roster, id } = restoredIn();
    const orphaned = { state: 'orphaned', reason: 'path-taken', message: 'its path is taken' } as const;
    assert.throws(() => roster.report(id, orphaned), /to go from restored \(from-checkpoint\) to orphaned/);
  });

  it('is told and not made in production', () => {
    const told: string[] = [];
    const heard: string[] = [];
    const { roster, id } = restoredIn((message) => void told.push(message));
    roster.listeners.follow({ changed: ({ to }) => void heard.push(to.state) });
    roster.report(id, { state: 'orphaned', reason: 'path-taken', message: 'its path is taken' });
    assert.equal(roster.get(id)?.state, 'restored');
    assert.deepEqual([told.length, heard], [1, []]);
    roster.report(id, { state: 'held', reason: 'not-answering', message: 'it is silent' });
    assert.deepEqual([told.length, heard], [1, ['held']]);
  });

  it('is a beginning, too: an instance of which the checkpoint says nothing enters as ready', () => {
    const { roster, id } = restoredIn();
    const restored = roster.get(id);
    assert.ok(restored);
    const told: string[] = [];
    const other = new Roster(
      new FakeClock(),
      { ownUid: 0, userOf: (uid) => uid },
      (message) => void told.push(message),
    );
    other.restore({ ...restored, state: 'ready', reason: 'confirmed' });
    assert.equal(other.get(id), undefined);
    assert.match(told.join(), /was to begin as ready \(confirmed\), which no rule allows/);
  });

  it('is none of those that lead out of a state, and every state has such', () => {
    for (const state of PLUGIN_STATES)
      assert.ok(
        MAY_BECOME[state].some((to) => to !== state),
        state,
      );
    const reached = new Set<string>(['connecting', ...PLUGIN_STATES.flatMap((state) => MAY_BECOME[state])]);
    assert.deepEqual([...reached].sort(), [...PLUGIN_STATES].sort(), 'and every state is reached');
  });
});
