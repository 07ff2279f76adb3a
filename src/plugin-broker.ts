#!/usr/bin/env node
// The program's entry. It loads one of several bundles, so that each program starts without the code of the others. The
// daemon has to be back soon after it was stopped: it starts from a code cache.
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { commandFirst } from './cli/global-options.js';
import { openBundle } from './platform/process/code-cache.js';
import { refuseDebugger } from './platform/process/no-debugger.js';
import { endWithNpx } from './platform/process/npx.js';

refuseDebugger();
endWithNpx();
const load = createRequire(import.meta.url);
// The loaded program reads the command from there.
process.argv.splice(2, Infinity, ...commandFirst(process.argv.slice(2)));
const [command, ...rest] = process.argv.slice(2);
const asksForHelp = rest.some((word) => word === '--help' || word === '-h');
if (command === 'registrar') load('./csi-node-driver-registrar.cjs');
else if (command !== 'serve' || asksForHelp) load('./cli.cjs');
// Node maps the lines of modules that it loads itself to their sources.
else if (process.execArgv.includes('--enable-source-maps')) load('./serve.cjs');
else openBundle(fileURLToPath(new URL('serve.cjs', import.meta.url))).run();
