import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Instance } from '../../../src/model/instance.js';
import { PathLooks } from '../../../src/reconcile/path-looks.js';
import { FakeClock } from '../../support/fake-clock.js';

/** Instances `UID/NAME` below /d, and looks that take a millisecond each. */
class Bed {
  readonly fake = new FakeClock();
  readonly instances: Instance[];
  readonly seen: string[] = [];
  readonly looks: PathLooks;
  /** What the next looks say: they are postponed for so long. */
  readonly waits: number[] = [];
  #spent = 0;

  namesMove = false;

  constructor(...ids: string[]) {
    this.instances = ids.map((id) => {
      const [uid, ...name] = id.split('/');
      return { id, socketPath: `/d/${name.join('/')}`, caller: { uid: Number(uid) } } as unknown as Instance;
    });
    const clock = {
      wall: () => this.fake.wall(),
      mono: () => this.fake.mono() + this.#spent,
      alarm: (ms: number, ring: () => void) => this.fake.alarm(ms, ring),
    };
    const roster = { all: () => this.instances, get: (id: string) => this.instances.find((one) => one.id === id) };
    const userOf = (uid: number): number => (uid >= 100_000 ? 4001 : uid);
    this.looks = new PathLooks(
      { clock, roster: roster as never, ownUid: 0, userOf, namesMove: () => this.namesMove },
      ({ id }) => {
        this.#spent += 1;
        this.seen.push(id);
        return this.waits.shift() ?? 0;
      },
    );
  }
}

describe('looks at the paths of instances', () => {
  const many = (uid: number, count: number): string[] =>
    Array.from({ length: count }, (_, nth) => `${String(uid)}/${String(nth)}.sock`);

  it('are at those alone whose name changed, or one of whose directories did', async () => {
    const bed = new Bed('0/a.sock', '0/b.sock', '0/sub/c.sock');
    bed.looks.begin(new Set(['b.sock', '.t']));
    assert.deepEqual(bed.seen.splice(0), ['0/b.sock']);
    bed.looks.begin(new Set(['sub']));
    assert.deepEqual(bed.seen.splice(0), ['0/sub/c.sock']);
    bed.looks.begin(new Set());
    assert.deepEqual(bed.seen, []);
    await bed.fake.advance(1000);
    bed.looks.begin(undefined);
    assert.equal(bed.seen.length, 3);
  });

  it('take the uids of one user for one, however many it has', async () => {
    const ranged = Array.from({ length: 200 }, (_, nth) => `${String(100_000 + nth)}/p.sock`);
    const bed = new Bed(...ranged, ...many(4002, 2));
    bed.looks.begin(undefined);
    await bed.fake.advance(60);
    assert.ok(many(4002, 2).every((id) => bed.seen.slice(0, 12).includes(id)));
  });

  it('are a few in a turn, those of root first, and of one user no more than of another', async () => {
    const bed = new Bed(...many(4001, 250), ...many(4002, 2), ...many(0, 4));
    bed.looks.begin(undefined);
    assert.ok(bed.seen.length <= 3, `${String(bed.seen.length)} in the first turn`);
    await bed.fake.advance(2);
    assert.deepEqual(bed.seen.slice(3, 7), many(0, 4));
    assert.ok(many(4002, 2).every((id) => bed.seen.slice(0, 12).includes(id)));
    bed.instances.length = 0;
    const { length } = bed.seen;
    await bed.fake.advance(10_000);
    assert.equal(bed.seen.length, length, 'an instance that went meanwhile is not looked at');
  });

  it('are in turns with those at sockets of root, too, where other users may move these', async () => {
    const bed = new Bed(...many(0, 250), ...many(4001, 2));
    bed.namesMove = true;
    bed.looks.begin(undefined);
    await bed.fake.advance(60);
    assert.ok(many(4001, 2).every((id) => bed.seen.slice(0, 12).includes(id)));
  });

  it('are made later where they say so, as often as that', async () => {
    const bed = new Bed(...many(4001, 2));
    bed.waits.push(500, 500, 0, 200);
    bed.looks.begin(undefined);
    assert.deepEqual(bed.seen.splice(0), many(4001, 2));
    await bed.fake.advance(499);
    assert.deepEqual(bed.seen, []);
    await bed.fake.advance(1);
    assert.deepEqual(bed.seen.splice(0), many(4001, 2));
    await bed.fake.advance(200);
    assert.deepEqual(bed.seen, ['4001/1.sock']);
  });

  it('end with a stop', async () => {
    const bed = new Bed(...many(4001, 250));
    bed.waits.push(1000);
    bed.looks.begin(undefined);
    const { length } = bed.seen;
    bed.looks.stop();
    await bed.fake.advance(10_000);
    assert.equal(bed.seen.length, length);
    assert.equal(bed.fake.pending, 0);
  });
});
