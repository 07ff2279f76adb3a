// The words for a connection that could not be made.
import { mayNotConnect } from '../../model/not-permitted.js';
import { ownUid } from '../process/own-uid.js';

/** The codes of the system where file permissions keep us out. */
const NOT_PERMITTED: ReadonlySet<string> = new Set(['EACCES', 'EPERM']);

/**
 * Why nobody could be connected to, in words from which `transportFault` (platform/grpc/transport-fault) reads the cause.
 *
 * @param code of the system, such as ECONNREFUSED
 * @param path where the socket is, for the sentence
 * @param uid of the owner of a plugin's socket; undefined for a socket of the kubelet
 */
export function connectFailure(code: string, path: string, uid: number | undefined): string {
  if (uid === undefined || !NOT_PERMITTED.has(code)) return `connect ${code} ${path}`;
  return mayNotConnect({ path, uid }, code, ownUid());
}
