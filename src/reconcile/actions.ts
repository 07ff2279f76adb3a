// The actions that follow from a change of an instance, a pull or a look: pure functions choose them (consequences.ts, pull.ts,
// after-look.ts), and Lifecycle (reconcile/lifecycle) carries them out.
import type { Instance } from '../model/instance.js';
import type { InstanceReport } from '../model/plugin.js';

/** One action of Lifecycle. */
export type Action =
  | { readonly do: 'note-ready' }
  | { readonly do: 'note-lost'; readonly failures: number }
  /** A pull was refused for now. */
  | { readonly do: 'note-failed'; readonly failures: number }
  /** Closes its session; the handler reports nothing more about it. */
  | { readonly do: 'end-session' }
  | { readonly do: 'drop-lists' }
  /** Drops a pull that has not begun, because the goal is reached; a pull that runs ends by itself. */
  | { readonly do: 'cancel-sleeping-pull' }
  /** The broker does not come back to it. */
  | { readonly do: 'cancel-pull' }
  | { readonly do: 'pull'; readonly delayMs: number }
  /** Asks a predecessor, if no instance of the plugin is connected by then. */
  | { readonly do: 'fall-back'; readonly to: Instance; readonly delayMs: number }
  /** Lets go of a replaced instance, which is kept as fallback while it listens. */
  | { readonly do: 'retire'; readonly whom: Instance }
  /** Closes a predecessor that is no fallback any more. */
  | { readonly do: 'close-replaced'; readonly message: string }
  /** Enters a report unchanged. */
  | { readonly do: 'report'; readonly report: InstanceReport }
  /** Enters a loss, which may mean that the plugin restarts itself. */
  | { readonly do: 'report-loss'; readonly report: InstanceReport };
