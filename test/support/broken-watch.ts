// Loaded into a broker with --import: the watch of device-plugins/ cannot be closed.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const watch = fs.watch as unknown as (...args: unknown[]) => fs.FSWatcher;
const instead = (...args: unknown[]): fs.FSWatcher => {
  const watcher = watch(...args);
  if (!fs.realpathSync(String(args[0])).endsWith('/device-plugins')) return watcher;
  watcher.close = () => {
    throw new Error('planted: it cannot be closed');
  };
  return watcher;
};
Object.assign(fs, { watch: instead });
syncBuiltinESMExports();
