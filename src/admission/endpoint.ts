// From the endpoint that a plugin names to a path, and whether that path may be dialled. Pure but for its two ports.
import path from 'node:path';
import { fitsWritten } from '../kernel/written.js';
import { CSI_PLUGIN, DRA_PLUGIN, incarnationKey, isTrusted, UNANSWERED } from '../model/ids.js';
import { mayNotConnect } from '../model/not-permitted.js';
import { KUBELET_PLUGINS, type PinnedSocket, type PinProblem, type RegistrationRequest } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { Paths } from '../model/settings.js';
import type { SocketPort } from './ports.js';

/** A unix socket address holds this many bytes of path. */
const MAX_PATH_BYTES = 107;
/** Bytes of an endpoint as JSON writes it, which the checkpoint keeps: `./` can be repeated for ever. */
const MAX_WRITTEN = 1024;

/**
 * The directories at most that a socket of an ordinary user at the Register door lies below the root: each is opened at each look
 * at it.
 */
const MOST_DIRECTORIES = 4;

/** Directories in which an endpoint of this request may lie. */
function rootsFor(request: Pick<RegistrationRequest, 'type' | 'door'>, paths: Paths): readonly string[] {
  if (request.type === CSI_PLUGIN || request.type === DRA_PLUGIN) {
    return [paths.plugins, KUBELET_PLUGINS, paths.pluginsRegistry];
  }
  return [request.door === 'register' ? paths.devicePlugins : paths.pluginsRegistry];
}

/** Whether `file` lies inside `directory`; both absolute and without `..`. */
function isInside(file: string, directory: string): boolean {
  return file.startsWith(directory.endsWith('/') ? directory : `${directory}/`);
}

/**
 * The absolute path an endpoint means: translated by paths.map, relative ones in the directory of their door (as the
 * kubelet joins them), absolute ones as they are when they lie in an allowed root and else as the kubelet joins them.
 */
export function endpointPath(request: RegistrationRequest, paths: Paths): string | Refusal {
  const { endpoint, socket, name } = request;
  const shown = JSON.stringify(endpoint.slice(0, 160));
  if (endpoint === '') {
    if (socket !== undefined) return socket.path;
    return { code: 'ENDPOINT_INVALID', message: `${name}: the endpoint is empty` };
  }
  if (endpoint.includes('\0')) {
    return { code: 'ENDPOINT_INVALID', message: `${name}: the endpoint ${shown} contains a NUL byte` };
  }
  if (!fitsWritten(endpoint, MAX_WRITTEN)) {
    return {
      code: 'ENDPOINT_TOO_LONG',
      message: `${name}: the endpoint ${shown} has ${String(endpoint.length)} characters; ${String(MAX_WRITTEN)} plain ones are taken however it is spelled`,
    };
  }
  const base = request.door === 'register' ? paths.devicePlugins : paths.pluginsRegistry;
  const full = absolute(endpoint, base, rootsFor(request, paths), paths);
  const bytes = Buffer.byteLength(full);
  if (bytes > MAX_PATH_BYTES) {
    return {
      code: 'ENDPOINT_TOO_LONG',
      message: `${name}: the path of endpoint ${shown} has ${String(bytes)} bytes; a unix socket address holds ${String(MAX_PATH_BYTES)}`,
    };
  }
  return full;
}

function absolute(endpoint: string, base: string, roots: readonly string[], paths: Paths): string {
  if (!endpoint.startsWith('/')) return path.join(base, endpoint);
  const clean = path.normalize(endpoint);
  for (const { from, to } of paths.map) {
    if (isInside(clean, from)) return path.join(to, path.relative(from, clean));
  }
  if (roots.some((root) => isInside(clean, root)) || base === paths.pluginsRegistry) return clean;
  return path.join(base, clean);
}

/** The facts that decide which directories sockets may lie in. */
interface EndpointFacts {
  readonly paths: Paths;
  readonly sockets: Pick<SocketPort, 'realDirectory'>;
  /** The broker's own user. */
  readonly ownUid: number;
}

/**
 * Whether a path is meant to lie in an allowed root. Checked before the path is looked at: elsewhere anybody may have put links
 * on the way, which take time and lead to files that the caller may not see. The path of an ordinary user does not lie deep below
 * the root.
 *
 * @param facts decide which directories sockets may lie in
 */
export function checkMeant(request: RegistrationRequest, full: string, facts: EndpointFacts): Refusal | undefined {
  const { paths, sockets, ownUid } = facts;
  const roots = rootsFor(request, paths);
  const isBelow = (root: string | undefined): root is string => root !== undefined && isInside(full, root);
  const within = roots.flatMap((root) => [root, sockets.realDirectory(root)]).find(isBelow);
  return within === undefined ? outside(request, full, roots) : checkDepth(request, full, within, ownUid);
}

function checkDepth(request: RegistrationRequest, full: string, root: string, ownUid: number): Refusal | undefined {
  const { door, name, caller } = request;
  if (door !== 'register' || caller === undefined || isTrusted(caller.uid, ownUid)) return undefined;
  const directories = path.relative(root, full).split('/').length - 1;
  if (directories <= MOST_DIRECTORIES) return undefined;
  return {
    code: 'ENDPOINT_TOO_DEEP',
    message: `${name}: ${full} lies ${String(directories)} directories below ${root}; a socket of uid ${String(caller.uid)} may lie ${String(MOST_DIRECTORIES)} below it`,
  };
}

/**
 * Whether a pinned socket may be dialled for this request: its real path lies in an allowed root, and where that is the path of the
 * socket that registers, it is that very socket.
 */
export function checkRoots(
  request: RegistrationRequest,
  pinned: PinnedSocket,
  paths: Paths,
  sockets: SocketPort,
): Refusal | undefined {
  const { name, socket } = request;
  if (socket?.path === pinned.path && incarnationKey(socket.incarnation) !== incarnationKey(pinned.incarnation)) {
    const message = `${name}: ${pinned.path} is another socket by now than the one that registers`;
    return { code: 'SOCKET_SWAPPED', message, isPassing: true }; // the socket that is there now is told of by itself
  }
  const roots = rootsFor(request, paths);
  for (const root of roots) {
    const real = sockets.realDirectory(root);
    if (real !== undefined && isInside(pinned.path, real)) return undefined;
  }
  return outside(request, pinned.path, roots);
}

function outside({ name, endpoint }: RegistrationRequest, file: string, roots: readonly string[]): Refusal {
  const shown = JSON.stringify(endpoint.slice(0, 160));
  return {
    code: 'ENDPOINT_OUTSIDE',
    message: `${name}: the endpoint ${shown} leads to ${file}, outside of ${roots.join(', ')}`,
  };
}

/** The refusal for a pin that failed; `ownUid` is the broker's. */
export function pinRefusal(name: string, shownPath: string, problem: PinProblem, ownUid: number): Refusal {
  switch (problem.problem) {
    case 'missing':
      return { code: 'ENDPOINT_MISSING', message: `${name}: there is no socket at ${shownPath}` };
    case 'not-a-socket':
      return { code: 'ENDPOINT_NOT_SOCKET', message: `${name}: ${shownPath} is ${problem.detail}, not a unix socket` };
    case 'too-long':
      return { code: 'ENDPOINT_TOO_LONG', message: `${name}: the path ${shownPath} has ${problem.detail}` };
    case 'error':
      return openRefusal(name, shownPath, problem.detail, ownUid);
  }
}

/** @param code of the system, for a file that may be there */
function openRefusal(name: string, shownPath: string, code: string, ownUid: number): Refusal {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
      return { code: 'BUSY', message: `${name}: the broker has no file descriptor left`, retryAfterMs: 1000 };
    case UNANSWERED:
      return { code: 'BUSY', message: `${name}: the directory of ${shownPath} does not answer`, retryAfterMs: 1000 };
    case 'EACCES':
    case 'EPERM':
      return { code: 'NOT_PERMITTED', message: `${name}: ${mayNotConnect({ path: shownPath }, code, ownUid)}` };
    default:
      return { code: 'ENDPOINT_MISSING', message: `${name}: ${shownPath} cannot be opened (${code})` };
  }
}
