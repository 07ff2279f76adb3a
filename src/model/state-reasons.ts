// The other half of the closed table of reasons: states that are no refusals.

/**
 * The reasons for an instance's state, beyond refusals (docs/specification.md#sessions-and-states): the meaning, and the remedy.
 */
export const STATE_REASONS = {
  registering: ['The plugin is being dialled and asked.', 'Wait; the registration has a deadline.'],
  registered: ['The plugin registered and serves.', 'Nothing to do.'],
  confirmed: ['The broker came back to the plugin, which answered and serves.', 'Nothing to do.'],
  'from-checkpoint': ['Known from the checkpoint and not yet confirmed.', 'Wait for restart.deadline.'],
  settling: [
    'The plugin was given a reason to restart itself, as by a restart of the kubelet, and went away to do so.',
    'Wait for restart.settle; it registers again.',
  ],
  reopening: ['The list stream ended while the plugin lives; it is being opened again.', 'Nothing to do.'],
  'list-unwatched': [
    'The plugin is alive and its last list is kept, but no stream is open, as its reattach rule says.',
    'Restart the plugin if its devices may have changed.',
  ],
  'path-missing': [
    'The socket file vanished while the plugin goes on serving.',
    'Something removed the file; restart the plugin before the broker restarts, or it cannot be found again.',
  ],
  'path-taken': [
    'The path of the plugin now belongs to another socket.',
    'Wait for the newcomer to register, or stop one of the two.',
  ],
  'notify-pending': [
    'The plugin serves, but NotifyRegistrationStatus did not reach it yet.',
    'Wait; it is tried again. If it stays, look at the registration socket of the plugin.',
  ],
  'not-checkpointed': [
    'The plugin serves, but its registration is not on disk.',
    'See `plugin-broker status`: the checkpoint cannot be written.',
  ],
  'connection-lost': [
    'The connection to the plugin ended.',
    'Look whether the plugin crashed; it is dialled again while its socket exists.',
  ],
  'not-answering': [
    'The plugin accepts connections but answers no call.',
    'Look whether the process is stopped or hangs.',
  ],
  'stream-failed': [
    'The plugin ends each list stream with an error.',
    'Look at the error in `plugin-broker explain NAME`.',
  ],
  'socket-removed': ['The registration socket was removed.', 'Nothing to do if the plugin was uninstalled.'],
  'service-lost': ['The service socket of the driver does not answer.', 'Look at the driver; its registration stays.'],
  'publish-pending': [
    'The driver serves, but its node info is not published yet.',
    'Wait; it is tried again. If it stays, the message names the obstacle.',
  ],
  'publish-refused': [
    'The driver serves, but its node info contradicts the published one, or the API server refuses it.',
    'Correct what the message names, such as a label or the topology.',
  ],
  replaced: ['A newer incarnation of the plugin took over; this one is kept as fallback.', 'Nothing to do.'],
  goodbye: ['The plugin sent an empty list and closed: it left on purpose.', 'Nothing to do.'],
  'grace-over': ['The plugin did not come back within its grace.', 'Start the plugin, or `plugin-broker forget NAME`.'],
  'update-flood': [
    'The plugin sent more lists than its policy allows and was disconnected.',
    'Fix the plugin or raise flood.updates.',
  ],
  quarantine: ['The plugin is kept out for a while after too many strikes.', '`plugin-broker pardon NAME` lifts it.'],
  deregistered: ['An operator closed this incarnation.', 'Restart the plugin to let it in again.'],
  'list-refused': ['The device list of the plugin was refused.', 'See `plugin-broker explain NAME`.'],
  rebooted: ['Known from before a reboot: only a hint until the plugin answers.', 'Start the plugin.'],
  recycled: ['The socket of the plugin was removed so that it registers afresh.', 'Wait for it to register.'],
  'recycle-unanswered': [
    'The socket of the plugin was removed so that it registers afresh, and it did not.',
    'Restart the plugin. If that helps until the next restart of the broker only, give it a rule with reattach: stream or probe.',
  ],
  'broker-stopping': ['The broker is stopping.', 'Nothing to do.'],
} as const satisfies Record<string, readonly [about: string, remedy: string]>;

/** Reasons for which a plugin that serves, or is only known, wants to be looked at. */
export const TROUBLED_REASONS: ReadonlySet<string> = new Set<keyof typeof STATE_REASONS>([
  'path-missing',
  'notify-pending',
  'publish-pending',
  'publish-refused',
  'stream-failed',
  'list-refused',
  'recycle-unanswered',
  'rebooted',
]);
