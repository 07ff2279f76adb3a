// A process that was killed and of which a thread is left that nothing ends, as on a disk that hangs.
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { procStat } from '../../../src/platform/process/proc-stat.js';
import { eventually } from '../eventually.js';

/** Listens on a path, and then has its first thread end, as a signal does; the others keep the process and its descriptors. */
const PROGRAM = `
  const [path, koffi] = process.argv.slice(1);
  require('node:net').createServer().listen(path, () => {
    require('node:fs').writeSync(1, 'listens');
    const exit = { x64: 60, arm64: 93 }[process.arch];
    require(koffi).load(null).func('long syscall(long, long)')(exit, 0);
  });
`;

/** Why there can be none; false where there can. */
export const noKilledListener = (): string | false => loadLibc() === undefined && 'koffi is not there';

/** Has one listen on a path. It takes connections and never answers; kill it. */
export async function killedListener(path: string): Promise<ChildProcess> {
  const koffi = createRequire(import.meta.url).resolve('koffi');
  const child = spawn(process.execPath, ['-e', PROGRAM, path, koffi], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  await eventually('its first thread has ended', () => procStat(child.pid ?? 0)?.firstHasEnded === true);
  assert.equal(procStat(child.pid ?? 0)?.hasEnded, false);
  return child;
}
