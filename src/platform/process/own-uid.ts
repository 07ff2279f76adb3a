// Who we are to the kernel: what files and sockets that we make belong to, and what others see behind our connections.
import { isTrusted } from '../../model/ids.js';

/** The effective uid of this process. */
export function ownUid(): number {
  return process.geteuid?.() ?? -1;
}

/** Whether a uid is root's or that of this process: nobody else's files and sockets are trusted. */
export function isOursOrRoots(uid: number): boolean {
  return isTrusted(uid, ownUid());
}
