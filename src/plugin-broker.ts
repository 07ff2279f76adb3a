#!/usr/bin/env node
// The program's entry. It loads one of two bundles, so that the daemon starts without the code of the other commands.
import { createRequire } from 'node:module';

const load = createRequire(import.meta.url);
const [command, ...rest] = process.argv.slice(2);
const asksForHelp = rest.some((word) => word === '--help' || word === '-h');
load(command === 'serve' && !asksForHelp ? './serve.cjs' : './cli.cjs');
