// A device plugin that runs as another user: node other-uid-plugin.js UID SOCKET KUBELET_SOCKET RESOURCE [ENDPOINT]
// It becomes that user only after its code is loaded, which that user may not be allowed to read.
import { FakePlugin } from './fake-plugin.js';

const [uid = '', socket = '', kubeletSocket = '', resource = '', endpoint] = process.argv.slice(2);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const plugin = await FakePlugin.start({ socket, resource });
await plugin.register(kubeletSocket, endpoint === undefined ? {} : { endpoint }).then(
  () => process.stdout.write('registered\n'),
  (failure: unknown) => process.stdout.write(`refused: ${(failure as Error).message}\n`),
);
process.stdin.resume().once('end', () => void plugin.stop().then(() => process.exit()));
