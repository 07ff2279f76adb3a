// The inputs and findings of the doctor. Everything outside the configuration is named here, so that tests can make it up.
import type { StatusView } from '../../model/views.js';
import type { Settings } from '../../model/settings.js';

/** One examination. */
export interface Scope {
  readonly settings: Settings;
  /** The proc file system. */
  readonly proc: string;
  /** Whom fusermount lets mount what: the configuration of FUSE. */
  readonly fuseConf: string;
  /** The directory that plugins have built in. */
  readonly kubeletDevicePlugins: string;
  /** The uid that runs the daemon, or would if it were started as this command was. */
  readonly uid: number;
  /** The daemon on this root, where one answers. */
  readonly daemon: StatusView | undefined;
  /** Why none answers; empty when one does. */
  readonly whyNoDaemon: string;
  /** Whether koffi can be loaded. */
  readonly hasNativeCalls: boolean;
  /** The release of the kernel, as uname says it. */
  readonly kernel: string;
}

/** Device plugins look for the kubelet here, whatever its root directory is (kubelet: a compile-time constant). */
export const KUBELET_DEVICE_PLUGINS = '/var/lib/kubelet/device-plugins';

/** ok: nothing to do. warn: it works, but look at it. fail: it does not work, or will not. */
export type Verdict = 'ok' | 'warn' | 'fail';

/** One check. The message is one sentence: the fact, and, unless it is ok, the remedy. */
export interface Finding {
  readonly name: string;
  readonly verdict: Verdict;
  readonly message: string;
}

/** A finding. */
export function finding(name: string, verdict: Verdict, message: string): Finding {
  return { name, verdict, message };
}
