// Where things are: the file's `paths` with the root applied, and whether sockets fit there.
import path from 'node:path';
import { LONGEST_SOCKET_PATH, defaultRoot } from '../model/root.js';
import type { Paths } from '../model/settings.js';
import type { ConfigForm, PathsForm } from './file-form.js';
import type { HostFacts } from './ports.js';
import type { ConfigProblem } from './problem.js';

/**
 * All paths, absolute and without `..`.
 *
 * @param rootFlag the root of the command line, which counts more than the file's
 */
export function resolvePaths(form: PathsForm, rootFlag: string | undefined, around: HostFacts): Paths {
  const named = rootFlag ?? (form.root === 'auto' ? undefined : form.root);
  const root = named === undefined ? defaultRoot(around) : path.resolve(around.workingDirectory, named);
  return {
    root,
    devicePlugins: path.resolve(root, form.devicePlugins),
    pluginsRegistry: path.resolve(root, form.pluginsRegistry),
    plugins: path.resolve(root, form.plugins),
    state: path.resolve(root, form.state),
    brokerSocket: path.resolve(root, form.brokerSocket),
    allocSocket: path.resolve(root, form.allocSocket),
    podResources: path.resolve(root, form.podResources),
    map: form.map.map(({ from, to }) => ({ from: path.resolve(from), to: path.resolve(to) })),
  };
}

/** The problems of a set of paths: sockets that do not fit an address, directories that stand in each other. */
export function pathProblems(paths: Paths, form: PathsForm, rootFlag: string | undefined): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (form.root !== 'auto' && !path.isAbsolute(form.root)) {
    problems.push({
      path: ['paths', 'root'],
      message: `${JSON.stringify(form.root)} is not an absolute path`,
      remedy: 'write a path that begins with /, or auto',
    });
  }
  return [...problems, ...tooLong(paths, form, rootFlag), ...overlapping(paths)];
}

/** One problem for all sockets that are too long: they have one cause. Longer paths are cut silently by the runtime. */
function tooLong(paths: Paths, form: PathsForm, rootFlag: string | undefined): ConfigProblem[] {
  const sockets = [
    { key: 'devicePlugins', file: path.join(paths.devicePlugins, 'kubelet.sock') },
    { key: 'state', file: path.join(paths.state, 'lock') },
    { key: 'brokerSocket', file: paths.brokerSocket },
    { key: 'allocSocket', file: paths.allocSocket },
    { key: 'podResources', file: path.join(paths.podResources, 'kubelet.sock') },
    // Drivers choose the names of theirs: the problem is a directory in which none is short enough.
    { key: 'pluginsRegistry', file: path.join(paths.pluginsRegistry, 's'), ofDrivers: paths.pluginsRegistry },
    { key: 'plugins', file: path.join(paths.plugins, 's'), ofDrivers: paths.plugins },
  ] as const;
  const over = sockets
    .map((socket) => ({
      key: socket.key,
      what: 'ofDrivers' in socket ? `shortest socket in ${socket.ofDrivers}` : `socket ${socket.file}`,
      excess: Buffer.byteLength(socket.file) - LONGEST_SOCKET_PATH,
    }))
    .filter(({ excess }) => excess > 0)
    .sort((a, b) => b.excess - a.excess);
  const worst = over[0];
  if (worst === undefined) return [];
  const ofRoot = !path.isAbsolute(form[worst.key]);
  const others = over.length > 1 ? ` (and ${over.length - 1} more)` : '';
  return [
    {
      path: ofRoot && rootFlag !== undefined ? ['--root'] : ['paths', ofRoot ? 'root' : worst.key],
      message: `the ${worst.what}${others} would have a path of ${worst.excess + LONGEST_SOCKET_PATH} bytes, and a unix socket address holds ${LONGEST_SOCKET_PATH}`,
      remedy: `choose a path that is at least ${worst.excess} bytes shorter`,
    },
  ];
}

/** A broker in front of a kubelet has doors of its own: plugins that come to ours must not meet the kubelet, nor it us. */
export function frontProblems(paths: Paths, front: ConfigForm['front']): ConfigProblem[] {
  if (!front.enabled) return [];
  const keys = ['devicePlugins', 'pluginsRegistry', 'plugins', 'podResources'] as const;
  return ['device-plugins', 'plugins_registry', 'plugins', 'pod-resources'].flatMap((name) => {
    const theirs = path.join(front.kubeletDir, name);
    const key = keys.find((one) => isWithin(paths[one], theirs) || isWithin(theirs, paths[one]));
    if (key === undefined) return [];
    return [
      {
        path: ['front', 'kubeletDir'],
        against: [['paths', key]],
        message: `${theirs} is the kubelet's, and paths.${key} is ${paths[key]}`,
        remedy: `give paths.${key} a directory of its own, or switch the front off`,
      },
    ];
  });
}

/** The doors are directories of plugins: nothing of ours may stand in them, and they not in each other. */
function overlapping(paths: Paths): ConfigProblem[] {
  const keys = [
    'devicePlugins',
    'pluginsRegistry',
    'plugins',
    'state',
    'brokerSocket',
    'allocSocket',
    'podResources',
  ] as const;
  const problems: ConfigProblem[] = [];
  for (const [index, key] of keys.entries()) {
    for (const other of keys.slice(index + 1)) {
      const [inner, outer] = isWithin(paths[other], paths[key]) ? [other, key] : [key, other];
      if (!isWithin(paths[inner], paths[outer])) continue;
      if (paths[inner] !== paths[outer] && outer === 'plugins') continue;
      problems.push({
        path: ['paths', inner],
        against: [['paths', outer]],
        message: `${paths[inner]} is the same as or inside paths.${outer} (${paths[outer]})`,
        remedy: 'give each of them a directory of its own',
      });
    }
  }
  return problems;
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);
}
