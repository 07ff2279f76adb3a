import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { PeerFault } from '../../../../src/platform/http2/fault.js';
import { Guard, type GuardKind } from '../../../../src/platform/http2/guard.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';

const codeAfter = (count: () => void): string | undefined => {
  try {
    count();
    return undefined;
  } catch (thrown) {
    return thrown instanceof PeerFault ? thrown.code : String(thrown);
  }
};
const times = (count: number, act: () => void): void => {
  for (let turn = 0; turn < count; turn++) act();
};

void describe('the guard', () => {
  const rows: readonly { readonly kind: GuardKind; readonly budget: number; readonly code: string }[] = [
    { kind: 'frames', budget: guardSettings.frames, code: 'FRAME_FLOOD' },
    { kind: 'settings', budget: guardSettings.settings, code: 'SETTINGS_FLOOD' },
    { kind: 'pings', budget: guardSettings.pings, code: 'PING_FLOOD' },
    { kind: 'resets', budget: guardSettings.resets, code: 'RAPID_RESET' },
    { kind: 'answeredResets', budget: guardSettings.resets, code: 'MADE_YOU_RESET' },
    { kind: 'emptyFrames', budget: guardSettings.emptyFrames, code: 'EMPTY_FRAMES' },
    { kind: 'messages', budget: guardSettings.emptyFrames, code: 'EMPTY_FRAMES' },
    { kind: 'windowUpdates', budget: guardSettings.windowUpdates, code: 'WINDOW_GAME' },
    { kind: 'priorities', budget: guardSettings.priorities, code: 'PRIORITY_FLOOD' },
    { kind: 'informational', budget: guardSettings.informational, code: 'HEADERS_FLOOD' },
    { kind: 'strayBlocks', budget: 4, code: 'HEADERS_FLOOD' },
  ];
  for (const { kind, budget, code } of rows) {
    void it(`allows ${budget} ${kind} in a window and ends the next with ${code}`, () => {
      const guard = new Guard(guardSettings, 0);
      times(budget, () => guard.count(kind));
      assert.equal(
        codeAfter(() => guard.count(kind)),
        code,
      );
    });

    void it(`allows as many ${kind} again in the next window`, () => {
      const guard = new Guard(guardSettings, 0);
      times(budget, () => guard.count(kind));
      guard.tell(guardSettings.windowMs);
      times(budget, () => guard.count(kind));
    });
  }

  void it('lets completed calls earn PING and WINDOW_UPDATE frames, for their window and the next', () => {
    const guard = new Guard(guardSettings, 0);
    times(1000, () => guard.callCompleted());
    times(guardSettings.pings + 2000, () => guard.count('pings'));
    guard.tell(guardSettings.windowMs);
    times(guardSettings.pings + 2000, () => guard.count('pings'));
    guard.tell(2 * guardSettings.windowMs);
    const one = (): void => times(guardSettings.pings + 1, () => guard.count('pings'));
    assert.equal(codeAfter(one), 'PING_FLOOD');
  });

  void it('remembers nothing of work done long ago', () => {
    const guard = new Guard(guardSettings, 0);
    times(1000, () => guard.callCompleted());
    guard.tell(5 * guardSettings.windowMs);
    const one = (): void => times(guardSettings.pings + 1, () => guard.count('pings'));
    assert.equal(codeAfter(one), 'PING_FLOOD');
  });

  void it('lets nothing earn SETTINGS or empty frames, and data no resets', () => {
    for (const kind of ['settings', 'emptyFrames', 'resets'] as const) {
      const guard = new Guard(guardSettings, 0);
      guard.dataReceived(1_000_000_000);
      times(1000, () => guard.dataSent(1000));
      if (kind !== 'resets') times(1000, () => guard.callCompleted());
      const many = (): void => times(guardSettings[kind] + 1, () => guard.count(kind));
      assert.notEqual(codeAfter(many), undefined);
    }
  });

  void it('lets answers that a tiny window has cut to pieces earn nothing', () => {
    const guard = new Guard(guardSettings, 0);
    const game = (): void =>
      times(guardSettings.windowUpdates + 1, () => {
        guard.dataSent(1);
        guard.count('windowUpdates');
      });
    assert.equal(codeAfter(game), 'WINDOW_GAME');
  });

  void it('tells frames once that neither the begin of a connection nor its work pays for', () => {
    const guard = new Guard(guardSettings, 0);
    times(32, () => guard.count('frames'));
    assert.equal(guard.takeUnearned(), 0);
    times(5, () => guard.count('frames'));
    assert.deepEqual([guard.takeUnearned(), guard.takeUnearned()], [5, 0]);
    guard.callCompleted();
    guard.dataSent(1000);
    guard.dataReceived(1024);
    times(33, () => guard.count('frames'));
    assert.equal(guard.takeUnearned(), 1);
  });

  void it('tells reads that bring little: each takes time, and neither what will come nor a call that goes on pays for it', () => {
    const guard = new Guard(guardSettings, 0);
    times(3, () => guard.read(0));
    assert.equal(guard.takeUnearned(), 0);
    guard.dataReceived(1_000_000);
    times(3, () => guard.read(0));
    times(100, () => guard.read(1024));
    assert.equal(guard.takeUnearned(), 3 * 6);
    guard.callCompleted();
    guard.dataSent(1000);
    guard.read(2 * 1024);
    times(8, () => guard.read(0));
    assert.equal(guard.takeUnearned(), 6);
  });

  void it('saves few reads of a connection, however much work it did before: a user has hundreds of them', () => {
    const guard = new Guard(guardSettings, 0);
    times(1000, () => guard.callCompleted());
    guard.read(16 * 1024 * 1024);
    times(64, () => guard.read(0));
    assert.equal(guard.takeUnearned(), 0);
    times(2, () => guard.read(0));
    assert.equal(guard.takeUnearned(), 2 * 6);
  });

  void it('never ends a client whose control frames are in proportion to its calls, however fast it is', () => {
    const perCall = fc.record({ pings: fc.integer({ min: 0, max: 2 }), windowUpdates: fc.integer({ min: 0, max: 4 }) });
    fc.assert(
      fc.property(perCall, fc.integer({ min: 1, max: 40 }), ({ pings, windowUpdates }, callsPerMs) => {
        const guard = new Guard({ ...guardSettings, windowMs: 100 }, 0);
        for (let now = 0; now < 300; now++) {
          guard.tell(now);
          times(callsPerMs, () => {
            times(pings, () => guard.count('pings'));
            times(windowUpdates, () => guard.count('windowUpdates'));
            times(3 + pings + windowUpdates, () => guard.count('frames'));
            guard.callCompleted();
          });
        }
      }),
      { numRuns: 20 },
    );
  });
});
