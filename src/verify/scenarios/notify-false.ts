import { COME_UP_MS } from '../rig.js';
import type { Scenario } from '../scenario.js';
import { endOf, seconds } from '../subject.js';
import { Failed } from '../verdict.js';

/** Drivers that start over have done so by then. */
const BACK_MS = 15_000;
/** It has to stay, too: the broker tries again at once, and meets some plugins on their way out. */
const STAYS_MS = 2_000;

/** The registry says no, once. */
export const notifyFalse: Scenario = {
  name: 'notify-false',
  does: 'refuses its registration once: NotifyRegistrationStatus says plugin_registered=false',
  passesWhen: 'it is there for the next try, or exits with a reason',
  doors: ['watcher'],
  seconds: 5,
  run: async (rig) => {
    await rig.arrive({ faults: [{ kind: 'notify-false' }] });
    const start = { calls: 0, pictures: 0 };
    const isTold = (): boolean => rig.witness.callsSince(start).some(({ fate }) => fate === 'denied');
    await rig.changes.until(isTold, COME_UP_MS);
    if (!isTold())
      throw new Failed(
        'never-back',
        `no registration socket answered GetInfo within ${seconds(COME_UP_MS)} of its start`,
      );
    rig.note('its registration is refused; it is told so, and asked again');
    const ends = rig.subject.ends.length;
    const untilMs = Date.now() + BACK_MS;
    for (;;) {
      const isBack = await rig.served(untilMs - Date.now());
      const end = rig.subject.ends[ends];
      if (!isBack && end !== undefined) return exited(end, rig.subject.lastLine());
      if (!isBack)
        throw new Failed(
          'never-back',
          `it was told that it is not registered, and for ${seconds(BACK_MS)} neither could be registered nor exited`,
        );
      await rig.changes.until(() => !rig.isServed(), STAYS_MS);
      if (!rig.isServed()) continue;
      if (end !== undefined) return `${exited(end, '')}, and came back when it was started again`;
      return 'was registered at the next try';
    }
  },
  mend: {
    how: 'NotifyRegistrationStatus with plugin_registered=false is final for this try: log the reason, and either exit with an error, so that the supervisor starts the plugin again, or keep the socket, so that the registry can ask again.',
    go: 'func (s *server) NotifyRegistrationStatus(_ context.Context, st *registerapi.RegistrationStatus) (*registerapi.RegistrationStatusResponse, error) {\n\tif !st.PluginRegistered {\n\t\tlog.Printf("not registered: %s", st.Error)\n\t\tdefer func() { go os.Exit(1) }() // answer first, then let the supervisor start it again\n\t}\n\treturn &registerapi.RegistrationStatusResponse{}, nil\n}',
    python:
      'def NotifyRegistrationStatus(self, request, context):\n    if not request.plugin_registered:\n        log.error("not registered: %s", request.error)\n        threading.Timer(0.1, os._exit, [1]).start()  # answer first\n    return RegistrationStatusResponse()',
  },
};

function exited(end: Parameters<typeof endOf>[0], lastLine: string): string {
  if (end.code === 0 && lastLine === '') {
    throw new Failed('crashed', `it exited ${endOf(end)} without a word, so that its operator learns nothing`);
  }
  return `exited ${endOf(end)}`;
}
