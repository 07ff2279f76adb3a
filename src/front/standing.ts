// The kubelet's view of a resource and the treatment of its calls, by the state of the instance that speaks for it. Pure. In all
// rows the kubelet keeps the last list of a plugin that is away for a moment, because a pod that is admitted while a list is
// empty fails for good.
import type { ResourceNow } from './ports.js';

/** Where a resource stands towards the kubelet. */
export interface Standing {
  /**
   * reported: the plugin's list · unhealthy: the same devices, none of them healthy · goodbye: an empty list, then the
   * streams end · nothing: the kubelet does not hear of it (yet).
   */
  readonly told: 'reported' | 'unhealthy' | 'goodbye' | 'nothing';
  /** open: passed on · hold: waits for the plugin a little · away: UNAVAILABLE at once · refused: not while this lasts. */
  readonly allocate: 'open' | 'hold' | 'away' | 'refused';
  /** open: the gate lets pass · wait: it waits for the plugin · refused. */
  readonly preStart: 'open' | 'wait' | 'refused';
  /** The plugin was reached in this life of the broker: no container can start before its plugin is there. */
  readonly isConfirmed: boolean;
  /** The list is one of another boot, told because the operator asked for it. */
  readonly isSpeculative: boolean;
}

const standing = (
  told: Standing['told'],
  allocate: Standing['allocate'],
  preStart: Standing['preStart'],
  more: Partial<Standing> = {},
): Standing => ({ told, allocate, preStart, isConfirmed: false, isSpeculative: false, ...more });

/** How lists of another boot are handled: told within the time of speculation, unhealthy after it, or not at all. */
export type Speculation = 'off' | 'on' | 'over';

/** The row for the present facts. */
export function standingOf(now: ResourceNow | undefined, speculation: Speculation): Standing {
  if (now === undefined || now.devices === 0 || now.state === 'gone' || now.state === 'rejected') {
    return standing('goodbye', 'away', 'wait');
  }
  const { isConfirmed } = now;
  switch (now.state) {
    case 'ready':
      return standing('reported', 'open', 'open', { isConfirmed: true });
    case 'orphaned': // connected, as its devices count: a plugin that makes its socket anew is so for a moment
      return standing('reported', 'open', 'open', { isConfirmed });
    case 'quarantined':
      return standing('unhealthy', 'refused', 'refused', { isConfirmed });
    case 'restored':
    case 'held':
    case 'connecting':
      return now.isHint && !isConfirmed ? ofHint(speculation) : standing('reported', 'hold', 'wait', { isConfirmed });
  }
}

/** The list is one of another boot, and nobody has reached its plugin since. */
function ofHint(speculation: Speculation): Standing {
  if (speculation === 'off') return standing('nothing', 'away', 'wait');
  if (speculation === 'over') return standing('unhealthy', 'away', 'wait');
  return standing('reported', 'away', 'wait', { isSpeculative: true });
}
