// PodResources on its socket. Every user that may enter its directory sees all owners, so the directory is not for everybody.
import path from 'node:path';
import type { Settings } from '../../model/settings.js';
import { makeDirectory } from '../fs/directories.js';
import { servePodResources, type PodResourcesPorts } from '../grpc/pod-resources-service.js';
import { KeptDoor, type KeptDoorPorts } from './kept-door.js';

/** The name that clients know. */
const SOCKET = 'kubelet.sock';
/** The directory's mode decides who may connect. */
const SOCKET_MODE = 0o666;
/** Concurrent calls on one connection. */
const STREAMS = 16;

/** The ports of the socket. */
export interface PodResourcesSocketPorts extends PodResourcesPorts, KeptDoorPorts {
  readonly settings: Settings;
  /** It is about to close: `UpstreamAnswers.close` (podresources/upstream). */
  readonly closes: () => void;
}

/** The socket, its directory and its server. Without it leases work, and the broker reports the problem. */
export function podResourcesSocket(ports: PodResourcesSocketPorts): KeptDoor {
  const { settings, log, closes, degraded } = ports;
  const directory = settings.paths.podResources;
  return new KeptDoor(
    {
      ...ports,
      degraded: (why) =>
        degraded(why === undefined ? undefined : `the owners of devices cannot be read (PodResources): ${why}`),
    },
    {
      streams: STREAMS,
      place: () => {
        makeDirectory(directory);
        return { path: path.join(directory, SOCKET), access: { mode: SOCKET_MODE }, replaces: false };
      },
      movedAside: (message) => log.warn('pod-resources.moved-aside', message),
      serve: (door) => {
        servePodResources(door, ports);
        return closes;
      },
    },
  );
}
