// `completion bash|zsh|fish`
import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.js';
import { fishCompletion } from '../completion/fish.js';
import { completionTree } from '../completion/tree.js';
import { zshCompletion } from '../completion/zsh.js';
import type { Terminal } from '../terminal.js';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** Adds the command. It must come last: it knows the commands that were added before it. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SHELLS)))
    .summary('print the completion script of a shell')
    .description(
      'Prints the completion script of a shell. For the present one: source <(plugin-broker completion bash), or plugin-broker completion fish | source.',
    )
    .action((shell: keyof typeof SHELLS) => terminal.write(SHELLS[shell](completionTree(program))));
}
