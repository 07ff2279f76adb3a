#!/usr/bin/env node
// The registrar under the name that manifests and probes of node-driver-registrar call.
import { readFileSync } from 'node:fs';
import { registrarHost } from './registrar/registrar-host.js';
import { runRegistrar } from './registrar/registrar.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

/** `plugin-broker registrar …` loads this file, too: then the name of the subcommand stands before the flags. */
const [program = 'csi-node-driver-registrar', ...words] = process.argv.slice(1);
const isSubcommand = words[0] === 'registrar';

void runRegistrar(
  isSubcommand ? words.slice(1) : words,
  registrarHost(isSubcommand ? 'plugin-broker registrar' : program, version),
).then((code) => process.exit(code));
