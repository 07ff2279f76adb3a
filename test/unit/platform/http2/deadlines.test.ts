import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextDeadline, type Standing } from '../../../../src/platform/http2/deadlines.js';
import { guardSettings as g } from '../../../support/http2/guard-settings.js';

const quiet: Standing = {
  acceptedAt: 1000,
  hasBegun: true,
  blockSince: undefined,
  halfOpenSince: undefined,
  idleSince: undefined,
  starvedSince: undefined,
  unreadSince: undefined,
  halfClosedSince: undefined,
  retiringSince: undefined,
  heldSince: undefined,
};

void describe('the next deadline', () => {
  const rows: readonly {
    readonly when: string;
    readonly is: Partial<Standing>;
    readonly then: readonly [string, number];
  }[] = [
    { when: 'nothing is amiss', is: {}, then: ['TOO_OLD', 1000 + g.ageMs] },
    { when: 'it has not begun', is: { hasBegun: false }, then: ['SLOW_PREFACE', 1000 + g.prefaceMs] },
    { when: 'a block is incomplete', is: { blockSince: 2000 }, then: ['SLOW_HEADERS', 2000 + g.headersMs] },
    { when: 'a request is incomplete', is: { halfOpenSince: 2000 }, then: ['HALF_OPEN_CALL', 2000 + g.halfOpenMs] },
    { when: 'no call is open', is: { idleSince: 2000 }, then: ['IDLE', 2000 + g.idleMs] },
    { when: 'an answer is starved', is: { starvedSince: 2000 }, then: ['WINDOW_GAME', 2000 + g.unreadMs] },
    { when: 'an answer is unread', is: { unreadSince: 2000 }, then: ['UNREAD_BYTES', 2000 + g.unreadMs] },
    { when: 'one side has closed', is: { halfClosedSince: 2000 }, then: ['HALF_CLOSED', 2000 + g.halfClosedMs] },
    { when: 'it was asked to leave', is: { retiringSince: 2000, idleSince: 1 }, then: ['TOO_OLD', 32_000] },
    {
      when: 'several wait, the earliest counts',
      is: { idleSince: 2000, blockSince: 3000, halfOpenSince: 2500 },
      then: ['SLOW_HEADERS', 3000 + g.headersMs],
    },
    {
      when: 'we do not read the peer, its silence is not its fault',
      is: { heldSince: 2500, hasBegun: false, blockSince: 2000, halfOpenSince: 2000, idleSince: 2000 },
      then: ['TOO_OLD', 1000 + g.ageMs],
    },
    {
      when: 'we do not read the peer, its own unread bytes are its fault',
      is: { heldSince: 2500, unreadSince: 2000 },
      then: ['UNREAD_BYTES', 2000 + g.unreadMs],
    },
    {
      when: 'it was late already before we stopped to read it',
      is: { heldSince: 2001 + g.halfOpenMs, halfOpenSince: 2000 },
      then: ['HALF_OPEN_CALL', 2000 + g.halfOpenMs],
    },
  ];
  for (const { when, is, then } of rows) {
    void it(`when ${when}: ${then[0]}`, () => {
      const { code, at } = nextDeadline({ ...quiet, ...is }, g);
      assert.deepEqual([code, at], then);
    });
  }
});
