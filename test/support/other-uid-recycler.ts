// Removes a plugin's socket as a broker of another user does: node other-uid-recycler.js UID SOCKET
// It says on standard output why it was not removed, or `removed`. It becomes that user only after its code is loaded, which that
// user may not be allowed to read.
import path from 'node:path';
import { KeptSockets } from '../../src/platform/fs/kept-sockets.js';
import { SocketPaths } from '../../src/platform/fs/socket-paths.js';
import { pinSocket } from '../../src/platform/fs/socket-pin.js';

const [uid = '', socket = ''] = process.argv.slice(2);
process.setgroups?.([Number(uid)]);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const paths = new SocketPaths([path.dirname(socket)], () => false);
const pinned = pinSocket(socket);
if ('problem' in pinned) throw new Error(pinned.detail);
const kept = new KeptSockets({ isListening: () => true, paths });
process.stdout.write(kept.remove(pinned) ?? 'removed');
kept.close();
pinned.release();
