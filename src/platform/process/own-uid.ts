// The uid of this process: the owner of the files and sockets it makes, and the peer that others see on its connections.
import { isTrusted } from '../../model/ids.js';

/** The effective uid of this process. */
export function ownUid(): number {
  return process.geteuid?.() ?? -1;
}

/** Whether a uid is root's or that of this process: files and sockets of other users are not trusted. */
export function isOursOrRoots(uid: number): boolean {
  return isTrusted(uid, ownUid());
}
