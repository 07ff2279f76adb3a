import { FakeClock } from '../../support/fake-clock.js';
import { modelLimiters } from '../../support/model-limiter.js';
import { limiterSuite } from './limiter-suite.js';

limiterSuite(
  'the plain model',
  () => {
    const clock = new FakeClock();
    return {
      open: modelLimiters(clock),
      now: () => clock.mono(),
      advance: (ms) => clock.advance(ms),
      stepWall: (ms) => clock.stepWall(ms),
      pending: () => clock.pending,
      lateMs: 0,
      lateUnseenMs: 0,
    };
  },
  300,
);
