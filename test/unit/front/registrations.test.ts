import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registrations } from '../../../src/front/registrations.js';
import { FakeClock } from '../../support/fake-clock.js';

const { signal } = new AbortController();

void describe('the caller of a socket that no Register names', () => {
  const world = (): { clock: FakeClock; registrations: Registrations; went: string[]; wait: (who: string) => void } => {
    const clock = new FakeClock();
    const registrations = new Registrations(clock);
    const went: string[] = [];
    return { clock, registrations, went, wait: (who) => registrations.after(() => went.push(who)) };
  };

  void it('is answered at once while no Register is under way', async () => {
    const { registrations, went, wait } = world();
    wait('one');
    (await registrations.begin(undefined, signal))();
    wait('two');
    assert.deepEqual(went, ['one', 'two']);
  });

  void it('waits until the last Register is over, and is answered once', async () => {
    const { clock, registrations, went, wait } = world();
    const [first, second] = [await registrations.begin(undefined, signal), await registrations.begin(4001, signal)];
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
    const over = await registrations.begin(undefined, signal);
    wait('one');
    await clock.advance(999);
    assert.deepEqual(went, []);
    await clock.advance(1);
    assert.deepEqual(went, ['one']);
    over();
    assert.deepEqual(went, ['one']);
  });
});

void describe('Registers of resources of ordinary users', () => {
  void it('are four at a time, and those of root wait for none of them', async () => {
    const registrations = new Registrations(new FakeClock());
    const begun: string[] = [];
    const overs: (() => void)[] = [];
    const begin = (name: string, user: number | undefined, until = signal): void => {
      void registrations.begin(user, until).then(
        (over) => {
          begun.push(name);
          overs.push(over);
        },
        () => begun.push(`${name} gave up`),
      );
    };
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    const gone = new AbortController();
    for (const name of ['a', 'b', 'c', 'd', 'e']) begin(name, 4001);
    begin('f', 4001, gone.signal);
    begin('g', 4001);
    for (const name of ['v', 'w']) begin(name, 4002);
    for (const name of ['p', 'q', 'r', 's', 't', 'u']) begin(name, undefined);
    await settled();
    assert.equal(begun.splice(0).sort().join(''), 'abcdpqrstuvw');
    let went = 0;
    registrations.after(() => (went += 1));
    gone.abort();
    await settled();
    assert.deepEqual(begun.splice(0), ['f gave up']);
    overs.shift()?.();
    await settled();
    assert.deepEqual(begun.splice(0), ['e']);
    for (const over of overs.splice(0)) over();
    await settled();
    assert.deepEqual([begun, went], [['g'], 0], 'one that waited was under way');
    overs.pop()?.();
    assert.equal(went, 1);
  });
});
