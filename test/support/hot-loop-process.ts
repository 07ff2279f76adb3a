// A device plugin that calls Register without a pause until it is taken: node hot-loop-process.js DIRECTORY
import path from 'node:path';
import { FakePlugin } from './fake-plugin.js';

const [, , directory = ''] = process.argv;
const plugin = await FakePlugin.start({ socket: path.join(directory, 'hot.sock') });
for (let isTaken = false; !isTaken;) {
  isTaken = await plugin.register(path.join(directory, 'kubelet.sock')).then(
    () => true,
    () => false,
  );
}
