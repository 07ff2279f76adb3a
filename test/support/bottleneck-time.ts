import { mock } from 'node:test';
import type { Alarm } from '../../src/kernel/clock.js';
import { FakeClock } from './fake-clock.js';

/** Time as Bottleneck sees it. */
export interface BottleneckTime {
  /** A new clock, by which everything goes from now on. */
  fresh(): FakeClock;
  /** While true, timers that Bottleneck sets never ring: a limiter whose Bottleneck hangs. */
  loseTimers: boolean;
}

/**
 * Bottleneck reads Date.now and setTimeout of the process: from here on both go by a FakeClock, so that its part is
 * tested under every schedule and step too, and its timers are counted with ours. For files that test nothing else.
 */
export function takeBottleneckTime(): BottleneckTime {
  let clock = new FakeClock();
  const time: BottleneckTime = {
    fresh: () => (clock = new FakeClock()),
    loseTimers: false,
  };
  mock.method(Date, 'now', () => clock.wall());
  mock.method(globalThis, 'setTimeout', (ring: () => void, ms = 0): Alarm => {
    if (time.loseTimers) return { cancel: () => undefined };
    return clock.alarm(Math.max(1, ms), ring);
  });
  mock.method(globalThis, 'clearTimeout', (timer: Alarm | undefined) => timer?.cancel());
  return time;
}
