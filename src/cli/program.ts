// The command line: which commands there are, and how failures become exit codes.
import { Command, CommanderError } from 'commander';
import { asError } from '../kernel/clock.js';
import { visible } from '../kernel/visible.js';
import type { CheckpointReader } from '../model/checkpoint-inspection.js';
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
import { addLiveNames } from './commands/live-names.js';
import { addReload } from './commands/reload.js';
import { addReport } from './commands/report.js';
import { addVerify } from './commands/verify.js';
import { addVersion } from './commands/version.js';
import { addWait } from './commands/wait.js';
import type { ConfigReader } from './config-reader.js';
import { refuseEmptyPaths } from './empty-paths.js';
import { CliError, Ended, EXIT } from './exit.js';
import { commandFirst } from './global-options.js';
import type { Terminal } from './terminal.js';

/** The parts that the entry gives to the command line. */
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
 * @param first the first word of the command line: commands of other names are not loaded
 */
export async function commandTree(terminal: Terminal, parts: ProgramParts, first: string): Promise<Command> {
  const program = new Command('plugin-broker')
    .description(
      'Takes in device plugins and CSI/DRA drivers as the kubelet does, with flood policies and a checkpoint.',
    )
    .version(parts.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\n--root, --address and -o may stand before the command, too; PLUGIN_BROKER_ROOT stands for --root.',
    )
    .showHelpAfterError('(--help says how it is used)')
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.complain(text.trimEnd()),
    })
    .exitOverride()
    .hook('preAction', refuseEmptyPaths);
  program.commandsGroup('The daemon:');
  addServe(program, () => parts.start('serve'));
  addCheckConfig(program, terminal, parts.readConfig);
  addDoctor(program, terminal, parts.readConfig);
  program.commandsGroup('Observing:');
  addStatus(program, terminal);
  addPlugins(program, terminal);
  addResources(program, terminal);
  addLimits(program, terminal);
  addEvents(program, terminal);
  addExplain(program, terminal);
  addWait(program, terminal);
  program.commandsGroup('Using devices:');
  addRun(program, terminal);
  addAllocate(program, terminal);
  addRelease(program, terminal);
  addAllocations(program, terminal);
  program.commandsGroup('Operating:');
  addOperatorCommands(program, terminal);
  addReload(program, terminal);
  addFront(program, terminal);
  addCheckpoint(program, terminal, parts.readCheckpoint);
  program.commandsGroup('Programs of their own:');
  await addSim(program, terminal, ABOUT_SIMULATORS.has(first));
  addDemo(program, terminal);
  addVerify(program, terminal, parts.version);
  addReport(program, terminal);
  addRegistrar(program, () => parts.start('csi-node-driver-registrar'));
  program.commandsGroup('Other:');
  addHelp(program);
  addVersion(program, terminal, parts.version);
  addLiveNames(program, terminal);
  addCompletion(program, terminal);
  return program;
}

/** `help sim device`: the help of a command, however deep it stands. */
function addHelp(program: Command): void {
  program
    .command('help')
    .argument('[command...]', 'whose help; none for that of the program')
    .helpOption(false)
    .description('print the help of a command')
    .action((words: readonly string[]) => {
      let command = program;
      for (const word of words) {
        const below = command.commands.find((one) => one.name() === word);
        if (below === undefined) program.error(`error: there is no command ${words.join(' ')}`);
        command = below;
      }
      command.outputHelp();
    });
}

/**
 * Runs one command line.
 *
 * @param args without the program's own name
 * @returns the exit code; never rejects
 */
export async function run(args: readonly string[], terminal: Terminal, parts: ProgramParts): Promise<number> {
  try {
    const ordered = commandFirst(args);
    const program = await commandTree(terminal, parts, ordered[0] ?? '');
    await program.parseAsync(ordered, { from: 'user' });
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
