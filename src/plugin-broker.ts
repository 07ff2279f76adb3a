#!/usr/bin/env node
// The program's entry. It loads one of several bundles, so that each program starts without the code of the others.
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const [command, ...rest] = process.argv.slice(2);
const asksForHelp = rest.some((word) => word === '--help' || word === '-h');
if (command === 'registrar') load('./csi-node-driver-registrar.cjs');
else load(command === 'serve' && !asksForHelp ? './serve.cjs' : './cli.cjs');
