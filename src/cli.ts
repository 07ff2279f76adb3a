// Everything but the programs that are bundles of their own: src/plugin-broker.ts loads it for all other commands.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { readCheckpoint } from './cli-checkpoint.js';
import { readConfig } from './cli-config.js';
import { run } from './cli/program.js';
import { processTerminal } from './cli/terminal.js';
import { loadDaemon } from './daemon-bundle.js';
import { muteLibrary } from './platform/grpc/mute-library.js';
import { neverWriteOut } from './platform/process/last-writes.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

muteLibrary();
neverWriteOut();
void run(process.argv.slice(2), processTerminal(), {
  version,
  readConfig,
  readCheckpoint,
  start: (bundle) => {
    if (bundle === 'serve') void loadDaemon().serve(process.argv.slice(3));
    else createRequire(import.meta.url)(`./${bundle}.cjs`);
  },
}).then((code) => {
  // Ended here and not by itself, so that nothing a simulator left open can hold it; but not before a pipe has taken all.
  process.stdout.write('', () => process.exit(code));
});
