// Everything but `serve`: the bundle that src/plugin-broker.ts loads for all other commands.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { readConfig } from './cli-config.js';
import { run } from './cli/program.js';
import { processTerminal } from './cli/terminal.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

void run(process.argv.slice(2), processTerminal(), {
  version,
  readConfig,
  serve: () => void createRequire(import.meta.url)('./serve.cjs'),
}).then((code) => {
  process.exitCode = code;
});
