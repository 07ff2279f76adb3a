// One event as one line.
import { visible } from '../../kernel/visible.js';
import type { BrokerEvent, EventType } from '../../model/event.js';
import { pad } from './text.js';
import type { Paint, Tone } from './tones.js';

const TONES: ReadonlyMap<string, Tone> = new Map<EventType, Tone>([
  ['registered', 'good'],
  ['refused', 'bad'],
  ['quarantine', 'bad'],
  ['flood', 'warn'],
  ['connection', 'warn'],
]);

/**
 * Time, kind, plugin, sentence and reason.
 *
 * @param withPlugin whether to name the plugin: not in the timeline of one
 * @returns a line with its line break
 */
export function eventLine(event: BrokerEvent, withPlugin: boolean, paint: Paint): string {
  const kind = paint(TONES.get(event.type) ?? 'plain', pad(visible(event.type), 10, 'left'));
  const plugin = withPlugin && event.plugin !== '' ? `${paint('bold', visible(event.plugin))}  ` : '';
  const reason = event.reason === '' ? '' : paint('quiet', ` [${visible(event.reason)}]`);
  return `${visible(event.time)}  ${kind}  ${plugin}${visible(event.message)}${reason}\n`;
}
