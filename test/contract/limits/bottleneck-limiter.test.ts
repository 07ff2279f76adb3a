import { bottleneckLimiters } from '../../../src/platform/limits/bottleneck-limiter.js';
import { takeBottleneckTime } from '../../support/bottleneck-time.js';
import { limiterSuite } from './limiter-suite.js';

const time = takeBottleneckTime();

limiterSuite(
  'on Bottleneck',
  () => {
    const clock = time.fresh();
    return {
      open: bottleneckLimiters(clock),
      now: () => clock.mono(),
      advance: (ms) => clock.advance(ms),
      stepWall: (ms) => clock.stepWall(ms),
      pending: () => clock.pending,
      lateMs: 80,
      lateUnseenMs: 2_100,
    };
  },
  300,
);
