// `checkpoint show|verify [FILE]`
import path from 'node:path';
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import type { CheckpointInspection, CheckpointReader, InspectedPlugin } from '../../model/checkpoint-inspection.js';
import { CliError, EXIT } from '../exit.js';
import { counted } from '../../kernel/counted.js';
import { ago, bytes, known } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { visibleJson } from '../output/text.js';
import { painter, type Paint } from '../output/tones.js';
import { rootOf, withOutput, type AddressOptions, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

type Options = OutputOptions & Pick<AddressOptions, 'root'>;

/** Adds the two commands. */
export function addCheckpoint(program: Command, terminal: Terminal, read: CheckpointReader): void {
  const checkpoint = program
    .command('checkpoint')
    .summary('read a checkpoint without the daemon')
    .description('Reads a checkpoint, or a copy of one, without the daemon and without changing anything.');
  const withFile = (command: Command): Command =>
    withOutput(command)
      .argument('[file]', 'a checkpoint (default: state/checkpoint.json in the root directory)')
      .option('--root <dir>', 'root directory of the daemon whose checkpoint is meant');
  const look = (file: string | undefined, options: Options): Promise<CheckpointInspection> =>
    read(path.resolve(file ?? path.join(rootOf(options), 'state', 'checkpoint.json')));

  withFile(checkpoint.command('show'))
    .summary('its contents')
    .description('Shows the contents of a checkpoint. A damaged one is shown as far as it can be read.')
    .action(async (file: string | undefined, options: Options) => {
      const contents = await look(file, options);
      if (options.output === 'json') terminal.write(`${visibleJson(contents, false)}\n`);
      else if (contents.condition !== 'missing') {
        terminal.write(contentsText(contents, terminal.now(), painter(terminal.hasColours)));
      }
      if (contents.condition === 'missing') throw new CliError(EXIT.failed, contents.problems.join('; '));
    });
  withFile(checkpoint.command('verify'))
    .summary('is it whole?')
    .description('Checks that a checkpoint and the device lists it names are whole. Ends with 1 when they are not.')
    .action(async (file: string | undefined, options: Options) => {
      const contents = await look(file, options);
      const { problems } = contents;
      if (options.output === 'json') terminal.write(`${visibleJson(contents, false)}\n`);
      else if (problems.length === 0) terminal.write(`${headline(contents, terminal.now())}\n${notesText(contents)}`);
      for (const problem of problems) terminal.complain(`${visible(contents.file)}: ${visible(problem)}`);
      if (problems.length > 0) throw new CliError(EXIT.failed, counted(problems.length, 'problem'));
    });
}

function headline(contents: CheckpointInspection, now: number): string {
  const { file, condition, format, generation, writtenAt, plugins } = contents;
  // A damaged file is of no format that could be believed.
  const known = format === 0 ? 'unknown' : String(format);
  const what = `${visible(file)} is ${condition}: format ${known}, generation ${generation}, ${bytes(contents.bytes)}`;
  return `${what}, ${counted(plugins.length, 'plugin')}, written ${ago(writtenAt, now)} ago`;
}

/** The whole text, in parts: the file, its problems, and the plugins. */
function contentsText(contents: CheckpointInspection, now: number, paint: Paint): string {
  const { problems, plugins, tombstones, limits, csiDrivers, leases, ledger } = contents;
  const columns: readonly Column<InspectedPlugin>[] = [
    { title: 'NAME', of: (plugin) => plugin.name },
    { title: 'TYPE', of: (plugin) => plugin.type },
    { title: 'ROLE', of: (plugin) => (plugin.primary ? 'primary' : 'other') },
    { title: 'CONFIRMED', of: (plugin) => (plugin.confirmed ? 'yes' : 'no') },
    { title: 'DEVICES', of: (plugin) => known(plugin.devices) },
    { title: 'LIST', of: (plugin) => plugin.list },
    { title: 'REGISTERED', of: (plugin) => plugin.registrations },
    { title: 'LAST', of: (plugin) => ago(plugin.lastRegisteredAt, now) },
    { title: 'SOCKET', of: (plugin) => plugin.socket },
  ];
  const more = [
    counted(tombstones, 'tombstone'),
    counted(limits, 'limit'),
    `${counted(leases, 'lease')}${ledger === '' || ledger === 'ok' ? '' : ` (ledger ${ledger})`}`,
    `CSI drivers: ${csiDrivers.length === 0 ? 'none' : csiDrivers.map(visible).join(', ')}`,
  ];
  return [
    `${headline(contents, now)}\n`,
    ...problems.map((problem) => `${paint('bad', `! ${visible(problem)}`)}\n`),
    notesText(contents),
    `${more.join(', ')}\n`,
    plugins.length === 0 ? '' : `\n${table(columns, plugins, paint)}`,
  ].join('');
}

function notesText({ notes }: CheckpointInspection): string {
  return notes.map((note) => `note: ${visible(note)}\n`).join('');
}
