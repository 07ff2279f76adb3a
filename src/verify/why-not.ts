// Why a plugin did not come up, in one sentence that its author can act on.
import type { PluginPicture } from '../model/fault-port.js';
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';
import type { Directories } from './directories.js';
import { listSockets } from './sockets.js';
import { endOf, lastWords, seconds, times, type Subject } from './subject.js';
import { Failed } from './verdict.js';
import type { Witness } from './witness.js';

/** The facts that are looked at. */
export interface NotUp {
  readonly witness: Witness;
  readonly subject: Subject;
  readonly directories: Directories;
  readonly isBound: boolean;
  /** Plugins that are there. */
  readonly plugins: readonly PluginPicture[];
  /** `type/name` of those that were to come up, as far as that is known. */
  readonly expected: ReadonlySet<string>;
}

/** The reason, after `withinMs` of waiting. */
export function whyNot(seen: NotUp, withinMs: number): Failed {
  const { plugins, subject } = seen;
  const isEmpty = plugins.length > 0 && plugins.every(({ state }) => state === 'ready');
  const code = isEmpty ? 'no-healthy-device' : subject.ends.length > 0 ? 'crashed' : 'never-back';
  return new Failed(code, sentence(seen, withinMs));
}

function sentence(seen: NotUp, withinMs: number): string {
  const { plugins, expected } = seen;
  if (plugins.length === 0) return notSeen(seen, withinMs);
  const within = `within ${seconds(withinMs)}`;
  const bad = plugins.find(({ state }) => state !== 'ready');
  if (bad !== undefined)
    return `${bad.name} registered, but was ${bad.state} (${bad.reason}) after ${seconds(withinMs)}`;
  const empty = plugins.find(({ type, allocatable }) => type === DEVICE_PLUGIN && allocatable === 0);
  if (empty?.capacity === 0) return `${empty.name} registered, but sent no list with a device ${within}`;
  if (empty !== undefined) return `${empty.name} sent a list of ${empty.capacity}, and none of them is Healthy`;
  const missing = [...expected].filter((key) => !plugins.some((plugin) => pluginKey(plugin) === key));
  return `${missing.join(', ')} did not come up ${within}`;
}

function notSeen(seen: NotUp, withinMs: number): string {
  const { witness, subject } = seen;
  const calls = witness.callsSince({ calls: 0, pictures: 0 }).length;
  const end = subject.ends.at(-1);
  if (calls > 0 && witness.lastRefusal !== '') {
    return `it asked to be registered ${times(calls)} and was refused: ${witness.lastRefusal}`;
  }
  if (end === undefined) return `${silent(seen, withinMs)}${lastWords(subject)}`;
  const again = subject.ends.length === 1 ? '' : `, each of the ${subject.ends.length} times that it was started`;
  return `the command ended ${endOf(end)}, before it registered${again}${lastWords(subject)}`;
}

function silent({ subject, directories, isBound }: NotUp, withinMs: number): string {
  const within = `within ${seconds(withinMs)}`;
  if (!subject.isOurs) return `nothing registered below ${directories.kubelet} ${within}`;
  const sockets = [...listSockets(directories.devicePlugins), ...listSockets(directories.registry)];
  if (sockets.length > 0) return `it made the socket ${sockets.join(', ')}, but did not call Register ${within}`;
  const hint = isBound
    ? 'it has to register at /var/lib/kubelet/device-plugins/kubelet.sock'
    : 'tell it where its registry is with {devicePlugins} or {kubeletSocket} in its command, or use --bind when the path is built in';
  return `it runs, but neither called Register nor made a socket ${within}; ${hint}`;
}
