import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registrations } from '../../../src/front/registrations.js';
import { FakeClock } from '../../support/fake-clock.js';

void describe('the caller of a socket that no Register names', () => {
  const world = (): { clock: FakeClock; registrations: Registrations; went: string[]; wait: (who: string) => void } => {
    const clock = new FakeClock();
    const registrations = new Registrations(clock);
    const went: string[] = [];
    return { clock, registrations, went, wait: (who) => registrations.after(() => went.push(who)) };
  };

  void it('is answered at once while no Register is under way', () => {
    const { registrations, went, wait } = world();
    wait('one');
    registrations.begin()();
    wait('two');
    assert.deepEqual(went, ['one', 'two']);
  });

  void it('waits until the last Register is over, and is answered once', async () => {
    const { clock, registrations, went, wait } = world();
    const [first, second] = [registrations.begin(), registrations.begin()];
    wait('one');
    first();
    first();
    assert.deepEqual(went, []);
    second();
    assert.deepEqual(went, ['one']);
    await clock.advance(1000);
    assert.deepEqual(went, ['one']);
  });

  void it('waits a second at most for a kubelet that does not answer Register', async () => {
    const { clock, registrations, went, wait } = world();
    const over = registrations.begin();
    wait('one');
    await clock.advance(999);
    assert.deepEqual(went, []);
    await clock.advance(1);
    assert.deepEqual(went, ['one']);
    over();
    assert.deepEqual(went, ['one']);
  });
});
