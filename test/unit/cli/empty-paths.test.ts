import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import { commandTree } from '../../../src/cli/program.js';
import { CapturedTerminal, programParts, runHere } from '../../support/captured-terminal.js';

/** Options that are called like paths, and have sentences of their own. */
const OWN = new Set(['--profile', '--allocate-device', '--allocate-mount']);

interface Line {
  readonly words: readonly string[];
  readonly option: string;
}

/** Each command with each option of it that is a path, and something for each argument that it wants. */
function* linesOf(command: Command, words: readonly string[] = []): Generator<Line> {
  for (const below of command.commands) yield* linesOf(below, [...words, below.name()]);
  const wanted = command.registeredArguments
    .filter(({ required }) => required)
    .map(({ argChoices }) => argChoices?.[0] ?? 'x');
  const needed = command.options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long }) => [long ?? '', 'phase=ready']);
  for (const { long, flags } of command.options) {
    if (long === undefined || OWN.has(long)) continue;
    if (/dir|file|path|socket|report|junit|artifacts/i.test(flags) && /[<[]/.test(flags) && !/name>/.test(flags))
      yield { words: [...words, ...needed, ...wanted, long, ''], option: flags };
  }
}

describe('an empty path', () => {
  it('is wrong usage, in one sentence, for every option of every command that is a path', async () => {
    const tree = await commandTree(new CapturedTerminal(), programParts, 'help');
    const lines = [...linesOf(tree)].filter(({ words }) => words[0] !== 'serve');
    assert.ok(lines.length > 40, String(lines.length));
    for (const { words, option } of lines) {
      const { code, stdout, stderr } = await runHere(words);
      const says = `error: option '${option}' argument '' is invalid. It must be a path: an empty one names nothing.`;
      assert.deepEqual([code, stdout, stderr.split('\n')[0]], [2, '', says], words.join(' '));
    }
  });

  it('is wrong usage for arguments that are files', async () => {
    for (const words of [
      ['check-config', ''],
      ['checkpoint', 'show', ''],
      ['report', 'a', ''],
    ]) {
      const { code, stderr } = await runHere(words);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /^error: command-argument 'file' argument '' is invalid\. /);
    }
  });
});
