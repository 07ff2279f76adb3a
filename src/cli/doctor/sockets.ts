// Are the sockets sockets, does somebody listen on them, and is it us?
import path from 'node:path';
import { counted } from '../../kernel/counted.js';
import { finding, type Finding, type Scope } from './finding.js';
import { statusOfLink, UNANSWERED_WHY, type Status } from './looks.js';
import { entriesOf, probe, probeAll } from './probe.js';

/** Names listed in one sentence. */
const MOST_NAMED = 5;

/** The daemon's own sockets. */
export async function checkOwnSockets(scope: Scope): Promise<readonly Finding[]> {
  const { brokerSocket, devicePlugins } = scope.settings.paths;
  const kubeletSocket = path.join(devicePlugins, 'kubelet.sock');
  return [await checkOwn('admin socket', brokerSocket, scope), await checkOwn('kubelet.sock', kubeletSocket, scope)];
}

async function checkOwn(name: string, socket: string, { daemon, settings }: Scope): Promise<Finding> {
  const shape = shapeOf(socket);
  if (shape === 'unanswered') return finding(name, 'fail', `${socket} cannot be looked at: ${UNANSWERED_WHY}`);
  if (shape === 'missing') {
    const absent = `there is no ${socket}; serve makes it`;
    if (daemon === undefined) return finding(name, 'ok', absent);
    return finding(name, 'fail', `the daemon runs, but ${socket} was removed; restart the daemon`);
  }
  if (shape === 'directory') {
    const why = 'a container runtime makes one where a socket is mounted that does not exist';
    return finding(name, 'fail', `${socket} is a directory (${why}); remove it, and mount its directory instead`);
  }
  if (shape === 'other') return finding(name, 'fail', `${socket} is not a socket; remove it`);
  const liveness = await probe(socket);
  if (liveness === 'dead') {
    return finding(name, 'ok', `nobody listens on ${socket}, it is left from a daemon that ended; serve replaces it`);
  }
  if (liveness === 'unanswered') return finding(name, 'fail', `${socket} cannot be called: ${UNANSWERED_WHY}`);
  if (liveness === 'denied') {
    return finding(name, 'warn', `this user may not connect to ${socket}; run this as the user of the daemon`);
  }
  if (liveness !== 'listening') return finding(name, 'fail', `${socket} accepts no connection; restart its daemon`);
  if (daemon !== undefined) return finding(name, 'ok', `${socket} answers`);
  if ((await probe(settings.paths.brokerSocket)) === 'denied') {
    return finding(name, 'warn', `somebody listens on ${socket}; run this as the user of the daemon to learn who`);
  }
  const foreign = `somebody listens on ${socket}, but no plugin-broker answers on this root`;
  return finding(name, 'fail', `${foreign}; stop that daemon (a kubelet?), or use another directory`);
}

/** Sockets of plugins that nobody listens on, and things that only look like sockets. */
export async function checkPluginSockets(scope: Scope): Promise<readonly Finding[]> {
  const { devicePlugins, pluginsRegistry } = scope.settings.paths;
  const silent: string[] = [];
  const entries = [...entriesOf(devicePlugins, false, silent), ...entriesOf(pluginsRegistry, true, silent)];
  const sockets = entries.filter(({ entry }) => entry.isSocket()).map(({ file }) => file);
  const kubeletSocket = path.join(devicePlugins, 'kubelet.sock');
  const theirs = sockets.filter((file) => file !== kubeletSocket);
  const below = (directory: string): readonly string[] => theirs.filter((file) => file.startsWith(`${directory}/`));
  const found = [devicePlugins, pluginsRegistry].map((directory) => probeAll(below(directory), directory));
  const probed = (await Promise.all(found)).flat();
  const having = (...wanted: readonly string[]): readonly string[] =>
    probed.filter(({ liveness }) => wanted.includes(liveness)).map(({ socket }) => socket);
  const findings: Finding[] = [];
  const report = (files: readonly string[], noun: string, rest: string): void => {
    if (files.length > 0) {
      findings.push(finding('plugin sockets', 'warn', `${counted(files.length, noun)} ${rest}: ${named(files)}`));
    }
  };
  report(
    silent,
    'directory',
    'that did not answer, as where a user who may read it holds its lock; what is in it is not known',
  );
  report(having('dead'), 'socket', 'without a listener: start the plugins they belong to, or remove them');
  report(having('silent'), 'socket', 'that accept no connection: look whether the plugins hang');
  report(having('unanswered'), 'socket', 'that cannot be looked at, because the directory did not answer');
  report(having('denied'), 'socket', 'that this user may not connect to: run the daemon as a user who may');
  report(having('too-long'), 'socket', 'with a path that no address holds: use a shorter root');
  const folders = entries.filter(({ entry }) => entry.isDirectory() && entry.name.endsWith('.sock'));
  const why = 'made by a mount of a socket that did not exist; remove it, and mount its directory instead';
  report(
    folders.map(({ file }) => file).filter((file) => file !== kubeletSocket),
    'path',
    `called like a socket, but a directory, ${why}`,
  );
  const living = having('listening').length;
  if (findings.length === 0)
    findings.push(finding('plugin sockets', 'ok', `${counted(living, 'socket')} with a listener`));
  return findings;
}

function shapeOf(file: string): 'missing' | 'unanswered' | Status['kind'] {
  // Missing also where its directory may not be entered: said by the check of directories.
  const found = statusOfLink(file);
  return found === 'unanswered' ? found : (found?.kind ?? 'missing');
}

function named(files: readonly string[]): string {
  const more = files.length - MOST_NAMED;
  return [...files.slice(0, MOST_NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}
