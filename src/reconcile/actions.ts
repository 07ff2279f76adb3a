// What is to be done when something has become known of an instance. Decided by pure functions (consequences.ts, pull.ts,
// after-look.ts), and carried out by Lifecycle (reconcile/lifecycle).
import type { Instance } from '../model/instance.js';
import type { InstanceReport } from '../model/plugin.js';

/** What is to be done. */
export type Action =
  | { readonly do: 'note-ready' }
  | { readonly do: 'note-lost'; readonly failures: number }
  /** It was asked to come back, and refused for now. */
  | { readonly do: 'note-failed'; readonly failures: number }
  /** Its session is closed; nothing is reported by it any more. */
  | { readonly do: 'end-session' }
  | { readonly do: 'drop-lists' }
  /** It came true by itself; a pull that runs is what made it true, and ends by itself. */
  | { readonly do: 'cancel-sleeping-pull' }
  /** Nobody comes back to it. */
  | { readonly do: 'cancel-pull' }
  | { readonly do: 'pull'; readonly delayMs: number }
  /** A predecessor is asked, if nobody is connected by then. */
  | { readonly do: 'fall-back'; readonly to: Instance; readonly delayMs: number }
  /** It is replaced: kept as fallback while it listens. */
  | { readonly do: 'retire'; readonly whom: Instance }
  /** A predecessor that is no fallback any more. */
  | { readonly do: 'close-replaced'; readonly message: string }
  /** A fact, as it is. */
  | { readonly do: 'report'; readonly report: InstanceReport }
  /** A loss, which may mean that the plugin restarts itself. */
  | { readonly do: 'report-loss'; readonly report: InstanceReport };
