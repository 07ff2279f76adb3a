// A registration socket with several names: what is known by the one that has gone is known by one that remains.
import type { Instance } from '../model/instance.js';
import type { PinnedSocket } from '../model/plugin.js';

/** Gives an instance another name of its registration socket, and of its endpoint where that is the same one by the same name. */
export function takeName(instance: Instance, path: string): void {
  const { socketPath: before, enrolment } = instance;
  const isOwnEndpoint = instance.endpointKey === instance.socketKey && instance.endpointPath === before;
  instance.socketPath = path;
  if (isOwnEndpoint) instance.endpointPath = path;
  if (instance.endpointAsSent === before) instance.endpointAsSent = path;
  if (enrolment === undefined) return;
  const endpoint = isOwnEndpoint ? byName(enrolment.endpoint, path) : enrolment.endpoint;
  instance.enrolment = { ...enrolment, socket: byName(enrolment.socket, path), endpoint };
}

/** The same hold by another name: whoever was given it by its former one has it for as long as before. */
function byName(socket: PinnedSocket, path: string): PinnedSocket {
  const { incarnation, uid, dialPath } = socket;
  return {
    path,
    incarnation,
    uid,
    dialPath,
    release: () => socket.release(),
    retain: () => byName(socket.retain(), path),
  };
}
