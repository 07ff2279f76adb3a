import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registrar, type RegistrarState } from '../../../src/front/registrar.js';
import { Registrations } from '../../../src/front/registrations.js';
import type { FailedCall } from '../../../src/model/failed-call.js';
import { FakeClock } from '../../support/fake-clock.js';

/** A kubelet that takes every Register and opens a stream at once. */
function world() {
  const clock = new FakeClock();
  const facts = {
    incarnation: 'k1' as string | undefined,
    streams: 0,
    registers: 0,
    refuse: 0,
    failure: new Error('busy') as Error & Partial<FailedCall>,
    unserved: undefined as string | undefined,
    noEntry: undefined as string | undefined,
    entries: 0,
    never: false,
    during: (): void => undefined,
    binding: (): void => undefined,
  };
  const states: RegistrarState[] = [];
  const reasons: string[] = [];
  const registrations = new Registrations(clock);
  const registrar = new Registrar({
    resource: 'example.com/a',
    clock,
    random: { next: () => 1 },
    kubelet: {
      incarnation: () => facts.incarnation,
      register: () => {
        facts.registers++;
        facts.during();
        if (facts.never) return new Promise<void>(() => undefined);
        if (facts.refuse > 0) {
          facts.refuse--;
          return Promise.reject(facts.failure);
        }
        facts.streams = 1;
        return Promise.resolve();
      },
    },
    sockets: {
      endpoint: 'a.sock',
      ensure: async () => {
        if (facts.unserved !== undefined) throw new Error(facts.unserved);
        await Promise.resolve();
        facts.binding();
      },
      enter: () => {
        facts.entries++;
        return facts.noEntry;
      },
      close: () => undefined,
    },
    options: () => ({ preStartRequired: false, preferredAllocationAvailable: false }),
    openStreams: () => facts.streams,
    user: () => undefined,
    usesRegistry: true,
    registrations,
    told: (state, why) => {
      states.push(state);
      reasons.push(why);
    },
  });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  /** The kubelet lets the stream go although it lives. */
  const lose = async (): Promise<void> => {
    facts.streams = 0;
    registrar.look();
    await settle();
    registrar.look();
    await settle();
  };
  /** It has devices again. */
  const comeBack = async (): Promise<void> => {
    registrar.isWanted = true;
    await settle();
    registrar.look();
    await settle();
  };
  return { clock, facts, states, reasons, registrar, registrations, settle, lose, comeBack };
}

describe('the registrar of the front', () => {
  it('calls Register once, and again only when the stream ended or the kubelet is another one', async () => {
    const { facts, registrar, settle, lose, states } = world();
    registrar.isWanted = true;
    await settle();
    registrar.look();
    await settle();
    assert.deepEqual([facts.registers, states.at(-1)], [1, 'fronted']);
    registrar.look();
    await settle();
    assert.equal(facts.registers, 1);
    await lose();
    assert.equal(facts.registers, 2);
    facts.incarnation = 'k2';
    registrar.look();
    await settle();
    assert.equal(facts.registers, 3);
    registrar.close();
  });

  it('calls a kubelet once that comes in the place of another while the sockets are being made', async () => {
    const { facts, registrar, settle, states } = world();
    facts.binding = () => {
      if (facts.incarnation === 'k2') return;
      facts.incarnation = 'k2';
      registrar.look();
    };
    registrar.isWanted = true;
    await settle();
    registrar.look();
    await settle();
    assert.deepEqual([facts.registers, states.at(-1)], [1, 'fronted']);
    registrar.close();
  });

  it('does not call a kubelet about a resource that has no devices any more when its sockets are there', async () => {
    const { facts, registrar, settle } = world();
    facts.binding = () => void (registrar.isWanted = false);
    registrar.isWanted = true;
    await settle();
    assert.equal(facts.registers, 0);
    registrar.close();
  });

  it('does nothing more for a resource that is let go of while its sockets are made, or while the kubelet answers', async () => {
    const { facts, registrar, settle, states } = world();
    facts.binding = () => registrar.close();
    registrar.isWanted = true;
    await settle();
    assert.deepEqual([facts.registers, facts.entries, states], [0, 0, ['registering', 'registering']]);
    const away = world();
    away.facts.during = () => queueMicrotask(() => void (away.registrar.isWanted = false));
    away.registrar.isWanted = true;
    await away.settle();
    assert.deepEqual([away.facts.registers, away.facts.entries], [1, 0], 'its plugin has gone meanwhile');
    away.registrar.close();
    const other = world();
    other.facts.during = () => queueMicrotask(() => other.registrar.close());
    other.registrar.isWanted = true;
    await other.settle();
    assert.deepEqual(
      [other.facts.registers, other.facts.entries, other.states],
      [1, 0, ['registering', 'registering']],
    );
  });

  it('yields after the third loss within a minute, and tries again a minute later or at another kubelet', async () => {
    const { clock, facts, registrar, settle, lose, states } = world();
    registrar.isWanted = true;
    await settle();
    for (let nth = 0; nth < 4; nth++) await lose();
    assert.equal(states.at(-1), 'refused');
    const before = facts.registers;
    await clock.advance(59_000);
    await settle();
    assert.equal(facts.registers, before);
    await clock.advance(2_000);
    await settle();
    assert.equal(facts.registers, before + 1);
    registrar.close();
  });

  it('gives a Register that is never answered up after 15 s, says so, and calls again', async () => {
    const { clock, facts, registrar, settle, states } = world();
    facts.never = true;
    registrar.isWanted = true;
    await settle();
    assert.equal(facts.registers, 1);
    await clock.advance(14_999);
    assert.equal(facts.registers, 1);
    facts.never = false;
    await clock.advance(2000);
    await settle();
    assert.equal(facts.registers, 2);
    registrar.look();
    await settle();
    assert.equal(states.at(-1), 'fronted');
    registrar.close();
  });

  it('goes on trying while the kubelet refuses, and says what failed', async () => {
    const { clock, facts, registrar, settle, states } = world();
    facts.refuse = 3;
    registrar.isWanted = true;
    await settle();
    for (let nth = 0; nth < 4; nth++) {
      await clock.advance(1_000);
      await settle();
    }
    assert.equal(facts.registers, 4);
    registrar.look();
    await settle();
    assert.equal(states.at(-1), 'fronted');
    registrar.close();
  });

  it('says that it is refused where the kubelet said no, or where its directory cannot be served from', async () => {
    const { clock, facts, registrar, settle, states, reasons } = world();
    facts.unserved = 'chmod go-w it';
    registrar.isWanted = true;
    await settle();
    assert.deepEqual([states.at(-1), reasons.at(-1)], ['refused', 'it could not be registered: chmod go-w it']);
    Object.assign(facts, {
      unserved: undefined,
      refuse: Infinity,
      failure: Object.assign(new Error('no'), { status: 2 }),
    });
    await clock.advance(1_000);
    await settle();
    assert.deepEqual([states.at(-1), reasons.at(-1)], ['refused', 'it could not be registered: no']);
    facts.failure = Object.assign(new Error('nobody'), { status: 14, fault: 'no-listener' as const });
    await clock.advance(2_000);
    await settle();
    assert.equal(states.at(-1), 'registering');
    registrar.close();
  });

  it('says which entry the registry lacks for as long as it lacks it', async () => {
    const { clock, facts, registrar, settle, states, reasons } = world();
    facts.noEntry = 'x is not ours';
    registrar.isWanted = true;
    await settle();
    registrar.look();
    await settle();
    assert.deepEqual([states.at(-1), reasons.at(-1)], ['fronted', 'the kubelet follows its list; x is not ours']);
    facts.noEntry = undefined;
    await clock.advance(60_000);
    await settle();
    assert.deepEqual([states.at(-1), reasons.at(-1)], ['fronted', 'the kubelet follows its list']);
    assert.equal(facts.registers, 1);
    registrar.close();
  });

  it('looks for a kubelet again although nothing changed: one look may fail, as without a descriptor', async () => {
    const { clock, facts, registrar, settle, states } = world();
    facts.incarnation = undefined;
    registrar.isWanted = true;
    await settle();
    assert.deepEqual([facts.registers, states.at(-1)], [0, 'no-kubelet']);
    facts.incarnation = 'k1';
    await clock.advance(10_000);
    await settle();
    assert.equal(facts.registers, 1);
    registrar.close();
  });

  it('has its Register under way until the kubelet follows, refuses, or it is closed', async () => {
    const { clock, facts, registrar, registrations, settle } = world();
    let went = 0;
    const wait = (): void => registrations.after(() => went++);
    facts.never = true;
    registrar.isWanted = true;
    await settle();
    wait();
    assert.equal(went, 0);
    registrar.close();
    assert.equal(went, 1);
    const other = world();
    other.facts.refuse = 1;
    other.registrar.isWanted = true;
    await other.settle();
    other.registrations.after(() => went++);
    assert.equal(went, 2, 'it was refused');
    await other.clock.advance(1000);
    other.registrar.look();
    await other.settle();
    other.registrations.after(() => went++);
    assert.equal(went, 3, 'the kubelet follows');
    other.registrar.close();
    await clock.advance(1);
  });
});

describe('a resource that has no devices, and then some again', () => {
  /** Registered with a kubelet, which hears at once that it has none any more. */
  async function registered() {
    const made = world();
    const { facts, registrar, settle, comeBack } = made;
    await comeBack();
    const leave = async (): Promise<void> => {
      registrar.isWanted = false;
      facts.streams = 0;
      await settle();
    };
    return { ...made, leave };
  }

  it('is registered at once, and then further and further apart, until it has stayed for a minute', async () => {
    const { clock, facts, registrar, leave, comeBack } = await registered();
    const alternate = async (): Promise<void> => {
      await leave();
      await comeBack();
    };
    await alternate();
    assert.equal(facts.registers, 2);
    for (const [nth, apartMs] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000].entries()) {
      await alternate();
      await clock.advance(apartMs - 1);
      await alternate();
      assert.equal(facts.registers, 2 + nth);
      await clock.advance(1);
      await comeBack();
      assert.equal(facts.registers, 3 + nth);
    }
    await clock.advance(60_000);
    await alternate();
    assert.equal(facts.registers, 11, 'at once again');
    registrar.close();
  });

  it('is registered at once with another kubelet', async () => {
    const { facts, registrar, leave, comeBack } = await registered();
    for (let nth = 0; nth < 3; nth++) {
      await leave();
      await comeBack();
    }
    assert.equal(facts.registers, 2);
    facts.incarnation = 'k2';
    registrar.look();
    await comeBack();
    assert.equal(facts.registers, 3);
    await leave();
    await comeBack();
    assert.equal(facts.registers, 4, 'which has not seen it come back so far');
    registrar.close();
  });

  it('is not registered before its old streams have ended, but five seconds later all the same', async () => {
    const { clock, facts, registrar, leave, comeBack } = await registered();
    await leave();
    facts.streams = 1;
    await comeBack();
    assert.equal(facts.registers, 1);
    facts.streams = 0;
    await comeBack();
    registrar.look();
    await comeBack();
    assert.equal(facts.registers, 2);
    await clock.advance(120_000);
    await leave();
    facts.streams = 1;
    await comeBack();
    await clock.advance(4999);
    assert.equal(facts.registers, 2);
    await clock.advance(1);
    await comeBack();
    assert.equal(facts.registers, 3);
    registrar.close();
  });

  it('was taken from the kubelet, too, when that happened while Register was under way', async () => {
    const { facts, registrar, comeBack, states } = world();
    facts.during = () => {
      registrar.isWanted = false;
      facts.streams = 0;
    };
    for (let nth = 0; nth < 10; nth++) {
      await comeBack();
      facts.streams = 0;
    }
    assert.deepEqual([facts.registers, states.includes('refused')], [2, false]);
    registrar.close();
  });
});
