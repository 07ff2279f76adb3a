// `demo`: the story on one screen, told by real processes.
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { Ended } from '../exit.js';
import { painter } from '../output/tones.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addDemo(program: Command, terminal: Terminal): void {
  program
    .command('demo')
    .summary('see it at work: plugins, a flood, kill -9 and back, in half a minute')
    .description(
      'Starts a broker and simulated plugins in a temporary directory, shows devices that flip, a plugin that floods, and a kill -9 of the broker. Exits with 0 only if it observed all that it prints.',
    )
    .action(async () => {
      const { runDemo } = await import('../../demo/run-demo.js');
      const code = await runDemo(fileURLToPath(new URL('plugin-broker.cjs', import.meta.url)), {
        write: (text) => terminal.write(text),
        paint: painter(terminal.hasColours),
        signal: terminal.interruption(),
      });
      if (code !== 0) throw new Ended(code);
    });
}
