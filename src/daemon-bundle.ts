// The daemon's bundle, for the entries that serve. The daemon has to be back soon after it was stopped: it starts from a code
// cache.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { openBundle } from './platform/process/code-cache.js';
import type * as Daemon from './serve.js';

/** Loads it from beside the running bundle. */
export function loadDaemon(): typeof Daemon {
  // Node maps the lines of modules that it loads itself to their sources.
  if (process.execArgv.includes('--enable-source-maps'))
    return createRequire(import.meta.url)('./serve.cjs') as typeof Daemon;
  return openBundle(fileURLToPath(new URL('serve.cjs', import.meta.url))).run() as typeof Daemon;
}
