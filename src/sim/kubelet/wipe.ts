// Empties the device plugin directory as a kubelet does when it starts (kubernetes:
// pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go, removeContents).
import { mkdirSync } from 'node:fs';
import { isDone } from '../../kernel/if-possible.js';
import { inDirectory } from '../../platform/fs/pinned-directory.js';

/** The kubelet's own checkpoint in that directory. */
export const KUBELET_CHECKPOINT = 'kubelet_internal_checkpoint';

/**
 * Removes every entry that is no directory, sockets that somebody listens on included; directories and the kubelet's
 * checkpoint stay.
 *
 * @returns the names that were removed
 */
export function wipe(directory: string): string[] {
  mkdirSync(directory, { recursive: true, mode: 0o750 });
  return inDirectory(directory, (pinned) =>
    // The system removes no directory by this call. A process that may write here can make one of a name at any time.
    [...pinned.entries()]
      .map(({ name }) => name)
      .filter((name) => name !== KUBELET_CHECKPOINT && isDone(() => pinned.unlink(name))),
  );
}
