import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { whoGivesWay, type Holder, type Yielding } from '../../../src/flood/giving-way.js';
import { seededRandom } from '../../support/seeded-random.js';

interface Named extends Yielding {
  readonly name: string;
}

const held = (name: string, isIdle: boolean): Named => ({
  name,
  isIdle: () => isIdle,
  hasCalled: () => true,
  giveWay: () => undefined,
});
const holder = (user: number, open: number, isIdle: (nth: number) => boolean): Holder<Named> => ({
  user,
  isStranger: true,
  open,
  held: Array.from({ length: open }, (_, nth) => held(`${String(user)}/${String(open)}/${String(nth)}`, isIdle(nth))),
});

void describe('the connection that gives way', () => {
  void it('is the oldest idle one of the heaviest that has one, as if all were sorted', () => {
    const random = seededRandom(7);
    const upTo = (most: number): number => Math.floor(random.next() * most);
    for (let round = 0; round < 300; round++) {
      const holders = Array.from({ length: upTo(60) }, () => holder(upTo(8), 1 + upTo(9), () => random.next() < 0.05));
      const newcomer = holder(99, 0, () => true);
      const weight = ({ user }: Holder): number =>
        holders.filter((one) => one.user === user).reduce((sum, { open }) => sum + open, 0);
      const sorted = holders
        .filter((one) => weight(one) > 1)
        .sort((a, b) => (weight(a) === weight(b) ? b.open - a.open : weight(b) - weight(a)));
      const idle = sorted.slice(0, 16).flatMap((one) => [...one.held].find((connection) => connection.isIdle()) ?? []);
      const found = whoGivesWay<Named, Holder<Named>>([...holders, newcomer], newcomer);
      if (idle.length > 0) assert.equal(found, idle[0]);
      else assert.ok(found === undefined || found === [...(sorted[0]?.held ?? [])].at(-1));
    }
  });

  void it('costs no more than some looks at each of thousands of processes', () => {
    let looks = 0;
    const random = seededRandom(8);
    const counted = (user: number): Holder<Named> => {
      const open = 1 + Math.floor(random.next() * 1_000);
      return {
        user,
        isStranger: true,
        get open() {
          looks += 1;
          return open;
        },
        held: [held(String(user), true)],
      };
    };
    const holders = Array.from({ length: 4_000 }, () => counted(1));
    const newcomer = holder(2, 0, () => true);
    assert.notEqual(whoGivesWay<Named, Holder<Named>>([...holders, newcomer], newcomer), undefined);
    assert.ok(looks < 6 * holders.length, `${String(looks)} looks at ${String(holders.length)} processes`);
  });
});
