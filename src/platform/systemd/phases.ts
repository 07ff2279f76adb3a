// What systemd is told of the phases of the daemon.
import type { BrokerView } from '../../model/views.js';
import type { Notifier } from './notifier.js';

/** Tells systemd each phase once, and what is degraded. */
export function tellSystemd(notifier: Notifier): (view: BrokerView) => void {
  let isReady = false;
  let said = '';
  return ({ phase, problems }) => {
    const line = problems.length > 0 ? `${phase}: ${problems.join('; ')}` : phase;
    if (phase === 'stopping') notifier.stopping();
    if (!isReady && (phase === 'ready' || phase === 'degraded')) {
      isReady = true;
      notifier.ready(line);
    } else if (line !== said) {
      notifier.status(line);
    }
    said = line;
  };
}
