// A device plugin that runs as another user: node other-uid-plugin.js UID SOCKET KUBELET_SOCKET RESOURCE [ENDPOINT [held]]
// With held it tells its options once a line came on stdin. With - as KUBELET_SOCKET it waits in the registry, and says that it is the CSI driver RESOURCE at ENDPOINT.
// It becomes that user only after its code is loaded, which that user may not be allowed to read.
import { FakePlugin } from './fake-plugin.js';

const [uid = '', socket = '', kubeletSocket = '', resource = '', endpoint = '', held] = process.argv.slice(2);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const isDriver = kubeletSocket === '-';
const info = { type: 'CSIPlugin', endpoint, supportedVersions: ['1.0.0'] };
const line = new Promise<void>((resolve) => process.stdin.once('data', () => resolve()));
const hook = (method: string): Promise<void> | void => {
  if (held !== undefined && method === 'GetDevicePluginOptions') return line;
};
const plugin = await FakePlugin.start({ socket, resource, hook, ...(isDriver ? { door: 'watcher', info } : {}) });
if (isDriver) process.stdout.write('waiting\n');
else await register();
process.stdin.resume().once('end', () => void plugin.stop().then(() => process.exit()));

async function register(): Promise<void> {
  await plugin.register(kubeletSocket, endpoint === '' ? {} : { endpoint }).then(
    () => process.stdout.write('registered\n'),
    (failure: unknown) => process.stdout.write(`refused: ${(failure as Error).message}\n`),
  );
}
