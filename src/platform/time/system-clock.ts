import { timerMs, type Clock } from '../../kernel/clock.js';

/** The machine's clock. Alarms are unref'd: a daemon lives by its sockets, not by its timers. */
export const systemClock: Clock = {
  wall: () => Date.now(),
  mono: () => performance.now(),
  alarm: (delayMs, ring) => {
    const timer = setTimeout(ring, timerMs(delayMs));
    timer.unref();
    return { cancel: () => clearTimeout(timer) };
  },
};
