// The table of scenarios, in the order in which they are shown.
import type { Scenario } from './scenario.js';
import { allocate } from './scenarios/allocate.js';
import { dirRecreate } from './scenarios/dir-recreate.js';
import { firstList } from './scenarios/first-list.js';
import { frozen } from './scenarios/frozen.js';
import { hang } from './scenarios/hang.js';
import { lateSocket } from './scenarios/late-socket.js';
import { notifyFalse } from './scenarios/notify-false.js';
import { overlap } from './scenarios/overlap.js';
import { prestart } from './scenarios/prestart.js';
import { reboot } from './scenarios/reboot.js';
import { refuse } from './scenarios/refuse.js';
import { restartClean } from './scenarios/restart-clean.js';
import { restartKill } from './scenarios/restart-kill.js';
import { restartNowipe } from './scenarios/restart-nowipe.js';
import { sockOnly } from './scenarios/sock-only.js';
import { streamBreak } from './scenarios/stream-break.js';
import { unlinkOnly } from './scenarios/unlink-only.js';

/** All scenarios. */
export const SCENARIOS: readonly Scenario[] = [
  firstList,
  restartClean,
  restartNowipe,
  restartKill,
  sockOnly,
  allocate,
  prestart,
  lateSocket,
  dirRecreate,
  unlinkOnly,
  streamBreak,
  refuse,
  notifyFalse,
  hang,
  overlap,
  frozen,
  reboot,
];
