import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import type { Sharer } from '../../../../src/kernel/user-shares.js';
import { ConnectionSlots } from '../../../../src/platform/http/connection-slots.js';
import type { HttpPeer } from '../../../../src/platform/http/http-peer.js';
import type { OneAtATime } from '../../../../src/platform/http/one-at-a-time.js';

/** A connection without a socket. */
class Connection extends EventEmitter {
  readonly peer: HttpPeer;
  readonly writableLength = 0;
  isOver = false;
  written = '';

  constructor(sharer: Sharer) {
    super();
    this.peer = { name: String(sharer), sharer };
  }

  write(text: string): void {
    this.written += text;
  }

  destroySoon(): void {
    this.isOver = true;
  }

  get asSocket(): OneAtATime {
    return this as unknown as OneAtATime;
  }
}

function bed() {
  const slots = new ConnectionSlots();
  const open = (sharer: Sharer): Connection => {
    const connection = new Connection(sharer);
    slots.take(connection.asSocket);
    return connection;
  };
  /** How many of so many new connections of a user get a slot for a request, and the calls that end those. */
  const busy = (sharer: Sharer, wanted: number, isMetrics = false): (() => void)[] =>
    Array.from({ length: wanted }, () => slots.room(open(sharer).asSocket, isMetrics)).filter(
      (end) => end !== undefined,
    );
  return { slots, open, busy };
}

void describe('slots for requests', () => {
  for (const [what, isMetrics, one, ordinary, all] of [
    ['of pages', false, 12, 36, 48],
    ['of metrics', true, 14, 42, 56],
  ] as const) {
    void it(`${what} are a quarter for one user and three quarters for ordinary ones, and the rest is root's`, () => {
      const { busy } = bed();
      const ends = busy(4001, 60, isMetrics);
      assert.equal(ends.length, one);
      assert.equal(busy(4002, 60, isMetrics).length, one);
      assert.equal(busy('unknown', 60, isMetrics).length, one);
      assert.equal(busy(4003, 10, isMetrics).length, 0);
      assert.equal(busy(undefined, 60, isMetrics).length, all - ordinary);
      ends[0]?.();
      assert.equal(busy(4003, 10, isMetrics).length, 1);
    });
  }

  void it("of metrics leave root's pages a quarter, and those of pages leave its metrics one", () => {
    const [scraped, read] = [bed(), bed()];
    for (const uid of [4001, 4002, 4003]) {
      scraped.busy(uid, 60, true);
      read.busy(uid, 60);
    }
    assert.equal(scraped.busy(undefined, 60).length, 14);
    assert.equal(read.busy(undefined, 60, true).length, 20);
  });
});

void describe('a connection that gives way', () => {
  void it('is the oldest idle one of the user that has most, however old those of others are', () => {
    const { slots, open } = bed();
    const [root, other] = [open(undefined), open(4002)];
    const many = Array.from({ length: 62 }, () => open(4001));
    slots.room(many[0]?.asSocket ?? root.asSocket, false);
    const newcomer = open(4001);
    assert.deepEqual(
      [root, other, newcomer, ...many].filter(({ isOver }) => isOver),
      [many[1]],
    );
    assert.match(many[1]?.written ?? '', /^HTTP\/1\.1 503 /);
    open(4002);
    assert.equal(many[2]?.isOver, true);
    assert.deepEqual([root.isOver, other.isOver], [false, false]);
  });

  void it('is the oldest idle one where users are not told apart', () => {
    const { open } = bed();
    const many = Array.from({ length: 64 }, () => open(undefined));
    open(undefined);
    assert.deepEqual(many.map(({ isOver }) => isOver).indexOf(true), 0);
    assert.equal(many.filter(({ isOver }) => isOver).length, 1);
  });
});
