#!/usr/bin/env node
// The program's entry. It loads one of several bundles, so that each program starts without the code of the others.
import { createRequire } from 'node:module';
import { commandFirst } from './cli/global-options.js';
import { loadDaemon } from './daemon-bundle.js';
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
// No command for people: `verify` and the library start it.
else if (command === 'serve-under-test') load('./serve-under-test.cjs');
else if (command !== 'serve' || asksForHelp) load('./cli.cjs');
else void loadDaemon().serve(rest);
