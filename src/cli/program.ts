// The command line: which commands there are, and how failures become exit codes.
import { Command, CommanderError } from 'commander';
import { asError } from '../kernel/clock.js';
import { AdminFailure, Unreachable } from '../platform/grpc/admin-failure.js';
import { addAllocate, addAllocations, addRelease } from './commands/allocations.js';
import { addCheckConfig } from './commands/check-config.js';
import { addCheckpoint } from './commands/checkpoint.js';
import { addCompletion } from './commands/completion.js';
import { addDemo } from './commands/demo.js';
import { addDoctor } from './commands/doctor.js';
import { addRegistrar, addServe } from './commands/elsewhere.js';
import { addEvents } from './commands/events.js';
import { addExplain } from './commands/explain.js';
import { addFront } from './commands/front.js';
import { addLimits } from './commands/limits.js';
import { addOperatorCommands } from './commands/operator.js';
import { addPlugins } from './commands/plugins.js';
import { addResources } from './commands/resources.js';
import { addRun } from './commands/run.js';
import { addSim } from './commands/sim.js';
import { addStatus } from './commands/status.js';
import { addReport } from './commands/report.js';
import { addVerify } from './commands/verify.js';
import type { CheckpointReader } from './checkpoint-reader.js';
import type { ConfigReader } from './config-reader.js';
import { CliError, Ended, EXIT } from './exit.js';
import { visible } from './output/text.js';
import type { Terminal } from './terminal.js';

/** What the command line is given by its entry. */
export interface ProgramParts {
  readonly version: string;
  readonly readConfig: ConfigReader;
  readonly readCheckpoint: CheckpointReader;
  /** Runs one of the programs that are bundles of their own, in this process. */
  start(bundle: 'serve' | 'csi-node-driver-registrar'): void;
}

/** Command lines that are about every command, or about simulators. */
const ABOUT_SIMULATORS: ReadonlySet<string> = new Set(['sim', 'completion', 'help']);

/**
 * The tree of all commands, in the order of the help.
 *
 * @param first the first word of the command line: what it is not about is not loaded
 */
export async function commandTree(terminal: Terminal, parts: ProgramParts, first: string): Promise<Command> {
  const program = new Command('plugin-broker')
    .description(
      'Takes in device plugins and CSI/DRA drivers as the kubelet does, with flood policies and a checkpoint.',
    )
    .version(parts.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .addHelpCommand(helpCommand())
    .showHelpAfterError('(--help says how it is used)')
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.complain(text.trimEnd()),
    })
    .exitOverride();
  program.commandsGroup('The daemon:');
  addServe(program, () => parts.start('serve'));
  addCheckConfig(program, terminal, parts.readConfig);
  addDoctor(program, terminal, parts.readConfig);
  program.commandsGroup('What it sees:');
  addStatus(program, terminal);
  addPlugins(program, terminal);
  addResources(program, terminal);
  addLimits(program, terminal);
  addEvents(program, terminal);
  addExplain(program, terminal);
  program.commandsGroup('Using devices:');
  addRun(program, terminal);
  addAllocate(program, terminal);
  addRelease(program, terminal);
  addAllocations(program, terminal);
  program.commandsGroup('What an operator does:');
  addOperatorCommands(program, terminal);
  addFront(program, terminal);
  addCheckpoint(program, terminal, parts.readCheckpoint);
  program.commandsGroup('Programs of their own:');
  await addSim(program, terminal, ABOUT_SIMULATORS.has(first));
  addDemo(program, terminal);
  addVerify(program, terminal, parts.version);
  addReport(program, terminal);
  addRegistrar(program, () => parts.start('csi-node-driver-registrar'));
  program.commandsGroup('Other:');
  addCompletion(program, terminal);
  return program;
}

function helpCommand(): Command {
  const command = new Command('help').argument('[command]').helpOption(false).helpGroup('Other:');
  return command.description('print the help of a command');
}

/**
 * Runs one command line.
 *
 * @param args without the program's own name
 * @returns the exit code; never rejects
 */
export async function run(args: readonly string[], terminal: Terminal, parts: ProgramParts): Promise<number> {
  try {
    const program = await commandTree(terminal, parts, args[0] ?? '');
    await program.parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (failure) {
    if (failure instanceof CommanderError) return failure.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (failure instanceof Ended) return failure.exitCode;
    terminal.complain(`plugin-broker: ${visible(asError(failure).message)}`);
    if (failure instanceof CliError) return failure.exitCode;
    if (failure instanceof Unreachable) return EXIT.unreachable;
    return failure instanceof AdminFailure && failure.code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.failed;
  }
}
