import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Outcome, RegistrationRequest } from '../../../src/model/plugin.js';
import { Refused, type Refusal } from '../../../src/model/reasons.js';
import { LONGEST_TEXT } from '../../../src/model/registration.js';
import { RegisterDoor } from '../../../src/registration/register-door.js';
import { FakeClock } from '../../support/fake-clock.js';

const CALL = { version: 'v1beta1', endpoint: 'x.sock', resourceName: 'example.com/x' };

class Bed {
  readonly clock = new FakeClock();
  readonly requests: RegistrationRequest[] = [];
  readonly refused: string[] = [];
  enrol: (request: RegistrationRequest, signal: AbortSignal) => Promise<Outcome> = () =>
    Promise.resolve({ ok: true, instanceId: 'i', durable: true });
  readonly door = new RegisterDoor({
    enrolments: {
      enrol: (request, signal) => {
        this.requests.push(request);
        return this.enrol(request, signal);
      },
      refuse: ({ name }, { code }) => void this.refused.push(`${code} ${name}`),
    },
    clock: this.clock,
    timeouts: { registerMs: 10_000 },
  });
}

describe('the Register door', () => {
  it('asks for what the call says, and nothing else', async () => {
    const bed = new Bed();
    const caller = { uid: 5, gid: 5, pid: 9, startTime: '1', source: 'peercred' } as const;
    assert.equal((await bed.door.register(CALL, caller)).ok, true);
    assert.deepEqual(bed.requests, [
      {
        door: 'register',
        pulled: false,
        type: 'DevicePlugin',
        name: 'example.com/x',
        versions: ['v1beta1'],
        endpoint: 'x.sock',
        caller,
      },
    ]);
    assert.deepEqual([bed.clock.pending, bed.door.waiting], [0, 0]);
  });

  it('asks with no more of a text than can be let in, so that nobody has to keep what a message can hold', async () => {
    const bed = new Bed();
    const long = 'x'.repeat(60_000);
    await bed.door.register({ version: long, endpoint: long, resourceName: long }, undefined);
    const [{ versions, endpoint, name } = assert.fail()] = bed.requests;
    assert.deepEqual(
      [...versions, endpoint, name].map((text) => text.length),
      [LONGEST_TEXT, LONGEST_TEXT, LONGEST_TEXT],
    );
  });

  it('answers within its budget, even if a plugin hangs, and gives the work up', async () => {
    const bed = new Bed();
    let signal: AbortSignal | undefined;
    bed.enrol = (_, given) => {
      signal = given;
      return new Promise(() => undefined);
    };
    const answer = bed.door.register(CALL, undefined);
    await bed.clock.advance(9999);
    assert.equal(bed.door.waiting, 1);
    await bed.clock.advance(1);
    const outcome = await answer;
    assert.equal(!outcome.ok && outcome.refusal.code, 'NO_ANSWER');
    assert.match(outcome.ok ? '' : outcome.refusal.message, /example\.com\/x at x\.sock: .*10000 ms/);
    assert.equal(signal?.aborted, true);
    assert.equal(signal.reason instanceof Refused, true, 'the work on it knows what to answer');
    assert.equal(bed.door.waiting, 0);
  });

  it('lets a bounded number of calls wait, and tells the others to come back', async () => {
    const bed = new Bed();
    const open: ((outcome: Outcome) => void)[] = [];
    bed.enrol = () => new Promise((resolve) => void open.push(resolve));
    const calls = Array.from({ length: 2048 }, () => bed.door.register(CALL, undefined));
    const surplus = await bed.door.register(CALL, undefined);
    assert.deepEqual(!surplus.ok && { code: surplus.refusal.code, after: surplus.refusal.retryAfterMs }, {
      code: 'BUSY',
      after: 1000,
    });
    assert.deepEqual(bed.refused, ['BUSY example.com/x'], 'and it is told');
    for (const done of open) done({ ok: true, instanceId: 'i', durable: true });
    await Promise.all(calls);
    assert.equal(
      (await Promise.race([bed.door.register(CALL, undefined), Promise.resolve('waits')])) === 'waits',
      true,
    );
    assert.equal(bed.clock.pending, 1);
  });

  it('refuses everything while the broker is stopping, without work', async () => {
    const bed = new Bed();
    const refusal: Refusal = { code: 'STOPPING', message: 'the broker is stopping' };
    bed.door.close(refusal);
    assert.deepEqual(await bed.door.register(CALL, undefined), { ok: false, refusal });
    assert.equal(bed.requests.length, 0);
    assert.deepEqual(bed.refused, ['STOPPING example.com/x'], 'and it is told');
  });

  it('never rejects: an error that is thrown inside is answered', async () => {
    const bed = new Bed();
    bed.enrol = () => Promise.reject(new Refused({ code: 'BUSY', message: 'later' }));
    assert.deepEqual(await bed.door.register(CALL, undefined), {
      ok: false,
      refusal: { code: 'BUSY', message: 'later' },
    });
    bed.enrol = () => Promise.reject(new TypeError('oops'));
    assert.equal((await bed.door.register(CALL, undefined)).ok, false);
    assert.deepEqual([bed.clock.pending, bed.door.waiting], [0, 0]);
  });
});
