import type { Guarding } from '../../src/platform/grpc/owned-sockets.js';
import { DEFAULT_GUARD } from '../../src/platform/http2/default-guard.js';
import { systemClock } from '../../src/platform/time/system-clock.js';

/** Connections to plugins as the daemon guards them; nobody is told of an end. */
export const guarding: Guarding = { clock: systemClock, guard: () => DEFAULT_GUARD };
