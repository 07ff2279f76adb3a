import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { PluginLine } from '../../../src/allocation/plugin-line.js';

/** A line, and the users whose turns have begun, in order. */
class Bed {
  readonly line = new PluginLine();
  readonly begun: (number | undefined)[] = [];

  /** A request of a user. @returns gives it up */
  come(user: number | undefined): () => void {
    const left = new AbortController();
    void this.line.begin(user, left.signal).then((hasCome) => {
      if (hasCome) this.begun.push(user);
    });
    return () => left.abort();
  }

  /** Turns of these users are over, one after the other. @returns the turns that have begun since */
  async end(...users: (number | undefined)[]): Promise<(number | undefined)[]> {
    await this.#settle();
    this.begun.length = 0;
    for (const user of users) {
      this.line.end(user);
      await this.#settle();
    }
    return [...this.begun];
  }

  async #settle(): Promise<void> {
    for (let turns = 0; turns < 4; turns += 1) await Promise.resolve();
  }
}

describe('the line of requests to one plugin', () => {
  it('lets eight of root run at once, and four of an ordinary user', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 10; nth += 1) bed.come(4001);
    await Promise.resolve();
    assert.equal(bed.begun.length, 4);
    for (let nth = 0; nth < 10; nth += 1) bed.come(undefined);
    await Promise.resolve();
    assert.deepEqual(bed.begun.slice(4), [undefined, undefined, undefined, undefined]);
  });

  it('goes round the users, and each second turn is root’s while it waits', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 100; nth += 1) bed.come(4001);
    for (let nth = 0; nth < 6; nth += 1) bed.come(4002);
    bed.come(4003);
    for (let nth = 0; nth < 2; nth += 1) bed.come(undefined);
    assert.deepEqual(await bed.end(4001), [undefined]);
    assert.deepEqual(await bed.end(undefined, 4001), [4001, undefined]);
    assert.deepEqual(await bed.end(4002, 4002, 4001, undefined), [4002, 4003, 4001, 4002]);
  });

  it('gives a turn to somebody who waits although another one leaves in that moment', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 4; nth += 1) bed.come(4001);
    for (let nth = 0; nth < 4; nth += 1) bed.come(4002);
    const leave = bed.come(4003);
    bed.come(4004);
    leave();
    assert.deepEqual(await bed.end(4001), [4004]);
  });

  it('forgets a request that leaves, and is empty when all are over', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 4; nth += 1) bed.come(4001);
    const leave = bed.come(4001);
    leave();
    bed.come(4001);
    assert.deepEqual(await bed.end(4001, 4001, 4001, 4001), [4001]);
    assert.equal(bed.line.isEmpty, false);
    await bed.end(4001);
    assert.equal(bed.line.isEmpty, true);
  });
});
