#!/usr/bin/env node
// The registrar under the name that manifests and probes of node-driver-registrar call.
import { readFileSync } from 'node:fs';
import { muteLibrary } from './platform/grpc/mute-library.js';
import { waitForNoDirectory } from './platform/process/ending.js';
import { refuseDebugger } from './platform/process/no-debugger.js';
import { systemClock } from './platform/time/system-clock.js';
import { runRegistrar, type RegistrarHost } from './registrar/registrar.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

/** This process as the registrar sees it. @param program how it was called */
function registrarHost(program: string): RegistrarHost {
  return {
    program,
    version,
    argv: process.argv.slice(1),
    pid: process.pid,
    writeOut: (text) => void process.stdout.write(text),
    writeErr: (text) => void process.stderr.write(text),
    onSignal: (told) => {
      const onTerm = (): void => told('SIGTERM');
      const onInt = (): void => told('SIGINT');
      process.on('SIGTERM', onTerm).on('SIGINT', onInt);
      return () => process.off('SIGTERM', onTerm).off('SIGINT', onInt);
    },
  };
}

/** `plugin-broker registrar …` loads this file, too: then the name of the subcommand stands before the flags. */
const [program = 'csi-node-driver-registrar', ...words] = process.argv.slice(1);
const isSubcommand = words[0] === 'registrar';

refuseDebugger();
muteLibrary();
// Users may read plugins_registry/, and hold its lock.
waitForNoDirectory(systemClock);
void runRegistrar(
  isSubcommand ? words.slice(1) : words,
  registrarHost(isSubcommand ? 'plugin-broker registrar' : program),
).then((code) => process.exit(code));
