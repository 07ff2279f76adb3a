// `explain NAME|SOCKET`
import path from 'node:path';
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import type { ExplainView } from '../../model/views.js';
import { eventLine } from '../output/event-line.js';
import { documentText, isForPrograms } from '../output/format.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
import { clientOf, withAddress, withOutput, type AddressOptions, type OutputOptions } from '../options.js';
import type { Terminal } from '../terminal.js';
import { pluginTable } from './plugins.js';

interface ExplainOptions extends AddressOptions, OutputOptions {
  readonly type?: string;
}

/** Adds the command. */
export function addExplain(program: Command, terminal: Terminal): void {
  const command = program.command('explain').argument('<name|socket>', 'a plugin, or the path of a socket');
  withOutput(withAddress(command), ['table', 'yaml', 'json'])
    .summary('why a plugin is in its state, what to do, and its timeline')
    .description('Tells why a plugin is in its state and what to do, and shows what happened to it.')
    .option('--type <type>', 'type of the plugin, where the name is not unique')
    .action(async (given: string, options: ExplainOptions) => {
      const subject = /^\.{0,2}\//.test(given) ? path.resolve(given) : given;
      const view = await clientOf(options, terminal).explain(subject, options.type ?? '');
      if (isForPrograms(options.output)) terminal.write(await documentText(view, options.output, false));
      else terminal.write(explanation(view, terminal.now(), painter(terminal.hasColours)));
    });
}

/** The explanation at a time: the sentence, the incarnations, the timeline. */
export function explanation(view: ExplainView, now: number, paint: Paint): string {
  const state = paint(toneOfState(view.state), visible(view.state));
  const reason = view.reason === '' ? '' : ` (${visible(view.reason)})`;
  const sentence = `${paint('bold', visible(view.subject))} is ${state}${reason}: ${visible(view.why)} ${visible(view.remedy)}`;
  const plugins = view.plugins.length === 0 ? '' : `\n${pluginTable(view.plugins, now, paint, true)}`;
  const timeline = view.events.map((event) => eventLine(event, false, paint)).join('');
  return `${sentence.trimEnd()}\n${plugins}${timeline === '' ? '' : `\n${timeline}`}`;
}
