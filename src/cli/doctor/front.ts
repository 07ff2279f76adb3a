// The broker in front of a kubelet: are that kubelet's directories there and ours to write, does it follow every list, and
// which plugins still talk to it past us?
import path from 'node:path';
import { kubeletPaths, type KubeletPaths } from '../../platform/kubelet/front-paths.js';
import { counted } from '../../kernel/counted.js';
import { mayUse, statusOf } from './directories.js';
import { finding, type Finding, type Scope } from './finding.js';
import { entriesOf, probe, probeAll } from './probe.js';

/** States in which somebody has to do something. `registering` and `no-kubelet` pass by themselves, or name the kubelet. */
const WRONG: ReadonlySet<string> = new Set(['refused', 'too-large', 'registering']);
/** Names listed in one sentence. */
const MOST_NAMED = 5;

/** Nothing where the broker stands before no kubelet. */
export async function checkFront(scope: Scope): Promise<readonly Finding[]> {
  const { front, podResources } = scope.settings;
  if (!front.enabled) return [];
  const paths = kubeletPaths(front.kubeletDir, podResources.upstream);
  const directories = [paths.devicePlugins, paths.plugins, ...(front.doors === 'both' ? [paths.registry] : [])];
  return [
    ...directories.flatMap((directory) => checkPlace(directory, scope)),
    await checkKubelet(paths),
    ...checkResources(scope),
    await checkPastUs(paths, scope),
  ];
}

function checkPlace(directory: string, { uid }: Scope): readonly Finding[] {
  const name = "the kubelet's directories";
  const found = statusOf(directory);
  if (typeof found === 'string') {
    return [finding(name, 'fail', `${directory} cannot be looked at (${found}); check what is above it`)];
  }
  if (found === undefined) {
    return [
      finding(name, 'warn', `${directory} is not there; the kubelet makes it, or front.kubeletDir is another one`),
    ];
  }
  if (mayUse(directory, found, uid)) return [];
  const message = `uid ${uid} may not write ${directory}, so the kubelet cannot be told of devices; run the daemon as root, and allow it the directory (ReadWritePaths of its unit)`;
  return [finding(name, 'fail', message)];
}

async function checkKubelet({ socket, podResources }: KubeletPaths): Promise<Finding> {
  const name = 'the kubelet';
  const liveness = await probe(socket);
  if (liveness !== 'listening') {
    return finding(
      name,
      'warn',
      `nobody answers on ${socket} (${liveness}): start the kubelet, or correct front.kubeletDir`,
    );
  }
  const owners = await probe(podResources);
  if (owners === 'listening') return finding(name, 'ok', `${socket} and ${podResources} answer`);
  const lost = 'which pods have which devices is not known, and a device given twice is not noticed';
  const remedy = `mount ${path.dirname(podResources)} into the container of the broker, if it has one, or name the socket as podResources.upstream where --root-dir of the kubelet is another one`;
  return finding(name, 'warn', `nobody answers on ${podResources} (${owners}): ${lost}; ${remedy}`);
}

function checkResources({ daemon }: Scope): readonly Finding[] {
  const name = 'resources of the kubelet';
  const theirs = (daemon?.resources ?? []).filter(({ front }) => front.state !== 'off');
  const wrong = (daemon?.resources ?? []).filter(({ front }) => WRONG.has(front.state) || front.stays);
  if (wrong.length > 0) {
    return wrong
      .slice(0, MOST_NAMED)
      .map(({ name: resource, front }) =>
        finding(
          name,
          'warn',
          `${resource}${front.stays ? '' : ` is ${front.state}`}: ${front.reason}; see plugin-broker explain ${resource}`,
        ),
      );
  }
  return daemon === undefined ? [] : [finding(name, 'ok', `${counted(theirs.length, 'resource')} before the kubelet`)];
}

/** Sockets of plugins that are not ours: the kubelet has those from the plugins themselves. */
async function checkPastUs({ devicePlugins, socket }: KubeletPaths, { daemon }: Scope): Promise<Finding> {
  const name = 'plugins past us';
  const sockets = entriesOf(devicePlugins, false)
    .filter(({ file, entry }) => entry.isSocket() && file !== socket)
    .map(({ file }) => file);
  const living = (await probeAll(sockets, devicePlugins)).filter(
    ({ liveness }) => liveness !== 'dead' && liveness !== 'missing',
  );
  if (living.length === 0) return finding(name, 'ok', `no plugin listens in ${devicePlugins} itself`);
  const named = living.slice(0, MOST_NAMED).map((one) => path.basename(one.socket));
  const more = living.length > named.length ? ` and ${living.length - named.length} more` : '';
  // At the end of the grace the broker leaves the kubelet, and a plugin that has the name there by then is cut off with it.
  const held = (daemon?.resources ?? []).find(({ state, front }) => state === 'held' && front.state !== 'off');
  const remedy =
    held === undefined
      ? 'move them behind the broker, or leave out what they offer with front.exclude; restart one that was behind it before and of which the kubelet has no devices now: it was cut off when the broker let go'
      : `if one of them is the plugin of ${held.name}, which left the broker a moment ago, run plugin-broker deregister ${held.name} --force and then restart it, or the kubelet loses it when the broker lets go`;
  const message = `${counted(living.length, 'socket')} of plugins that talk to the kubelet past us: ${named.join(', ')}${more} in ${devicePlugins}; ${remedy}`;
  return finding(name, 'warn', message);
}
