// A device plugin that runs as another user: node other-uid-plugin.js UID SOCKET KUBELET_SOCKET RESOURCE [ENDPOINT [held]]
// With held it tells its options once a line came on stdin. With - as KUBELET_SOCKET it waits in the registry, and says what it is
// told; with an ENDPOINT it says there that it is the CSI driver RESOURCE at ENDPOINT, `own` for a service of its own on SOCKET.
// It becomes that user only after its code is loaded, which that user may not be allowed to read.
import { FakePlugin, type FakePluginOptions } from './fake-plugin.js';

const [uid = '', socket = '', kubeletSocket = '', resource = '', endpoint = '', held] = process.argv.slice(2);
process.setgid?.(Number(uid));
process.setuid?.(Number(uid));
const isWaiting = kubeletSocket === '-';
const info = { type: 'CSIPlugin', endpoint: endpoint === 'own' ? '' : endpoint, supportedVersions: ['1.0.0'] };
const line = new Promise<void>((resolve) => process.stdin.once('data', () => resolve()));
const hook = (method: string): Promise<void> | void => {
  if (held !== undefined && method === 'GetDevicePluginOptions') return line;
};
const waiting: Partial<FakePluginOptions> = {
  door: 'watcher',
  told: (error) => void process.stdout.write(error === '' ? 'told: registered\n' : `told: ${error}\n`),
  ...(endpoint === '' ? {} : { info, nodeId: 'stolen' }),
};
const plugin = await FakePlugin.start({ socket, resource, hook, ...(isWaiting ? waiting : {}) });
if (isWaiting) process.stdout.write('waiting\n');
else await register();
process.stdin.resume().once('end', () => void plugin.stop().then(() => process.exit()));

async function register(): Promise<void> {
  await plugin.register(kubeletSocket, endpoint === '' ? {} : { endpoint }).then(
    () => process.stdout.write('registered\n'),
    (failure: unknown) => process.stdout.write(`refused: ${(failure as Error).message}\n`),
  );
}
