import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnsentRequests } from '../../../../src/platform/grpc/unsent-requests.js';

const MIB = 1024 * 1024;

void describe('requests that have not left', () => {
  // Uids from 100,000 on are of the user who has 4001.
  const counted = (): UnsentRequests =>
    new UnsentRequests({ ownUid: 999, userOf: (uid) => (uid >= 100_000 ? 4001 : uid) });
  const mayWait = (unsent: UnsentRequests, uid: number, mib: number): boolean =>
    unsent.refusal(uid, mib * MIB) === undefined;

  void it('are 16 MiB of one user, on all connections, and a single one is always sent', () => {
    const unsent = counted();
    assert.ok(mayWait(unsent, 4001, 100));
    for (const uid of [4001, 100_007]) unsent.follow(uid, { unsentBytes: 4 * MIB });
    assert.deepEqual(
      [mayWait(unsent, 4001, 8), mayWait(unsent, 4001, 9), mayWait(unsent, 4002, 100)],
      [true, false, true],
    );
    assert.match(unsent.refusal(100_007, 9 * MIB) ?? '', /uid 4001 have not taken 8388608 bytes .* 16777216 may wait/);
  });

  void it('are 64 MiB of all users, and beyond it a MiB of each', () => {
    const unsent = counted();
    const mine = { unsentBytes: 1000 };
    unsent.follow(4001, mine);
    for (let uid = 5001; uid <= 5004; uid += 1) unsent.follow(uid, { unsentBytes: 16 * MIB - 1000 });
    assert.deepEqual([mayWait(unsent, 4001, 0.5), mayWait(unsent, 4001, 1)], [true, false]);
    assert.match(unsent.refusal(4001, MIB) ?? '', /of all users 67105\d+, and 67108864 may wait/);
    mine.unsentBytes = 0;
    assert.ok(mayWait(unsent, 4001, 1));
  });

  void it('are any number of root and of the broker, and of those without content', () => {
    const unsent = counted();
    for (const uid of [0, 999, 4001]) unsent.follow(uid, { unsentBytes: 100 * MIB });
    assert.deepEqual([mayWait(unsent, 0, 100), mayWait(unsent, 999, 100)], [true, true]);
    assert.deepEqual([unsent.refusal(4001, 1024), mayWait(unsent, 4001, 0.5)], [undefined, false]);
  });

  void it('are forgotten with their connection', () => {
    const unsent = counted();
    const forget = [1, 2].map(() => unsent.follow(4001, { unsentBytes: 10 * MIB }));
    assert.equal(mayWait(unsent, 4001, 1), false);
    for (const one of forget) one();
    assert.ok(mayWait(unsent, 4001, 100));
  });
});
