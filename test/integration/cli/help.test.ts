import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { commandTree } from '../../../src/cli/program.js';
import { CapturedTerminal, programParts } from '../../support/captured-terminal.js';
import { buildRoot } from '../../support/dist.js';
import { run } from '../../support/program.js';

const FOLDER = path.join(buildRoot(), 'test/golden/help');
/** Set it to write the files anew, then read the difference. */
const rewrite = process.env['UPDATE_GOLDEN'] === '1';

/** The help of each command by the name of its file. */
function helpTexts(command: Command, name: string): readonly { name: string; text: string }[] {
  const below = command.commands.filter((sub) => sub.name() !== 'help');
  return [
    { name, text: command.helpInformation() },
    ...below.flatMap((sub) => helpTexts(sub, `${name}-${sub.name()}`)),
  ];
}

const program = await commandTree(new CapturedTerminal(), programParts, 'help');
const texts = helpTexts(program, 'plugin-broker');

describe('--help', () => {
  if (rewrite) {
    mkdirSync(FOLDER, { recursive: true });
    for (const { name, text } of texts) writeFileSync(path.join(FOLDER, `${name}.txt`), text);
  }
  for (const { name, text } of texts) {
    it(`of ${name} is the text people know`, () => {
      assert.equal(text, readFileSync(path.join(FOLDER, `${name}.txt`), 'utf8'));
    });
  }

  it('has a text kept for each command, and none for commands that are gone', () => {
    const kept = readdirSync(FOLDER).map((file) => path.basename(file, '.txt'));
    assert.deepEqual(kept.sort(), texts.map(({ name }) => name).sort());
  });

  it('of serve is printed without starting a daemon', async () => {
    const wanted = readFileSync(path.join(FOLDER, 'plugin-broker-serve.txt'), 'utf8');
    const [flag, word] = await Promise.all([run(['serve', '--help']), run(['help', 'serve'])]);
    assert.deepEqual([flag.code, flag.stdout, flag.stderr], [0, wanted, '']);
    assert.deepEqual([word.code, word.stdout], [0, wanted]);
  });
});
