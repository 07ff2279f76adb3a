import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BELOW, commandFirst } from '../../../src/cli/global-options.js';
import { commandTree } from '../../../src/cli/program.js';
import { CapturedTerminal, programParts } from '../../support/captured-terminal.js';

const ordered = (line: string): string => commandFirst(line.split(' ')).join(' ');

describe('options before the command', () => {
  for (const [given, means] of [
    ['--root /r status', 'status --root /r'],
    ['--root=/r -ojson plugins x', 'plugins --root=/r -ojson x'],
    ['-o name --address /a plugins', 'plugins -o name --address /a'],
    ['--root /r checkpoint verify f', 'checkpoint verify --root /r f'],
    ['--root /r allocations vendor.com/x', 'allocations --root /r vendor.com/x'],
    ['--root /r run --device a -- cmd --root x', 'run --root /r --device a -- cmd --root x'],
    ['status --root /r', 'status --root /r'],
    ['--root', '--root'],
    ['--root /r', '--root /r'],
    ['--version', '--version'],
  ] as const) {
    it(`${given}: ${means}`, () => {
      assert.equal(ordered(given), means);
    });
  }

  it('know every command that has commands below it', async () => {
    const tree = await commandTree(new CapturedTerminal(), programParts, 'help');
    const nested = tree.commands.filter(({ commands }) => commands.length > 0);
    assert.deepEqual(
      new Map(nested.map((one) => [one.name(), new Set(one.commands.map((below) => below.name()).sort())])),
      new Map(
        [...BELOW].sort(
          ([a], [b]) => nested.findIndex((n) => n.name() === a) - nested.findIndex((n) => n.name() === b),
        ),
      ),
    );
  });
});
