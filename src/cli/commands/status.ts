// `status`
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { TROUBLED_REASONS } from '../../model/state-reasons.js';
import type { PluginView, RefusedView, ResourceView, StatusView } from '../../model/views.js';
import { counted } from '../../kernel/counted.js';
import { ago, bytes } from '../output/amounts.js';
import { table, type Column } from '../output/table.js';
import { documentText, isForPrograms, type OutputFormat } from '../output/format.js';
import { painter, toneOfState, type Paint } from '../output/tones.js';
import { show } from '../output/watch.js';
import { Ended, EXIT } from '../exit.js';
import { clientOf, showing, withAddress, withWatch, type AddressOptions, type WatchOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Plugins listed for attention: the summary stays on one screen. */
const MOST_LISTED = 10;
/** A kubelet that has not taken a Register after so long does not take it; until then it may be starting. */
const REGISTERING_MS = 10_000;
/** States that need no attention of an operator. */
const QUIET_STATES: ReadonlySet<string> = new Set(['ready', 'gone']);

/** Adds the command. */
export function addStatus(program: Command, terminal: Terminal): void {
  withWatch(withAddress(program.command('status')), ['table', 'yaml', 'json'])
    .summary('is all well? phase, problems first, then counts')
    .description(
      'Summarises the daemon on one screen: its phase, what is wrong, how many plugins are in which state, and which plugins are refused again and again. Ends with 0 when it is ready, with 3 when it is anything else.',
    )
    .action(async (options: AddressOptions & WatchOptions<OutputFormat>) => {
      const client = clientOf(options, terminal);
      const isForPeople = !isForPrograms(options.output);
      let phase = '';
      await show(terminal, showing(options), async () => {
        const status = await client.status(isForPeople);
        phase = status.broker.phase;
        if (!isForPeople) return documentText(status, options.output, options.watch === true);
        return statusSummary(status, terminal.now(), painter(terminal.hasColours));
      });
      // On a screen that is watched Ctrl-C is the normal end.
      if (phase !== 'ready' && options.watch !== true) throw new Ended(EXIT.notReady);
    });
}

/** The summary at a time. */
export function statusSummary(status: StatusView, now: number, paint: Paint): string {
  const { broker, policy, plugins, resources } = status;
  const sum = (of: 'capacity' | 'allocatable'): number => resources.reduce((total, each) => total + each[of], 0);
  const lines = [
    `plugin-broker ${visible(broker.version)} is ${paint(toneOfState(broker.phase), visible(broker.phase))} (pid ${broker.pid}, up ${ago(broker.startedAt, now)})`,
    ...[...broker.problems, ...policyProblem(status), ...ledgerProblem(status), ...frontProblems(status, now)].map(
      (problem) => paint('bad', `! ${visible(problem)}`),
    ),
    `checkpoint  ${checkpointLine(status, now, paint)}`,
    `policy      ${visible(policy.source)}, read ${ago(policy.loadedAt, now)} ago`,
    `plugins     ${countStates(plugins, paint)}; ${broker.restoredPlugins} came from the checkpoint at start`,
    ...leaseLine(status),
    ...frontLine(resources, paint),
    `resources   ${resources.length}, with ${sum('allocatable')} of ${counted(sum('capacity'), 'device')} allocatable`,
  ];
  return `${lines.join('\n')}\n${attention(status, now, paint)}${refusedAgain(status, now, paint)}`;
}

/** A policy error is a problem even where the broker did not list it. */
function policyProblem({ broker, policy }: StatusView): readonly string[] {
  if (policy.error === '' || broker.problems.some((problem) => problem.includes(policy.error))) return [];
  return [`the policy file was refused, the old policy is kept: ${policy.error}`];
}

function ledgerProblem({ ledger }: StatusView): readonly string[] {
  if (ledger.state === 'ok') return [];
  const what =
    ledger.state === 'stale' ? 'leases of the lost checkpoint are not known' : 'nobody knows what is given out';
  const remedy =
    ledger.state === 'unread' ? 'see checkpoint' : 'plugin-broker allocations reset, when nothing uses devices';
  return [`the ledger is ${ledger.state}: ${what}; ${remedy}`];
}

function leaseLine({ ledger: { leases, waiting } }: StatusView): readonly string[] {
  if (leases + waiting === 0) return [];
  return [`leases      ${leases}${waiting === 0 ? '' : `, and ${counted(waiting, 'request')} that wait for devices`}`];
}

/** The resources that the kubelet does not get although it should. */
function frontProblems({ resources }: StatusView, now: number): readonly string[] {
  const isWrong = ({ state, since }: ResourceView['front']): boolean =>
    state === 'refused' ||
    state === 'too-large' ||
    (state === 'registering' && now - Date.parse(since) > REGISTERING_MS);
  const wrong = resources.filter(({ front }) => isWrong(front) || front.stays);
  const told = wrong
    .slice(0, MOST_LISTED)
    .map(({ name, front }) => `${name}${isWrong(front) ? ` is ${front.state}` : ''}: ${front.reason}`);
  return wrong.length > told.length
    ? [...told, `and ${wrong.length - told.length} more: plugin-broker resources`]
    : told;
}

/** Resources by how they stand towards the kubelet; nothing where the broker stands before none. */
function frontLine(resources: readonly ResourceView[], paint: Paint): readonly string[] {
  const fronted = resources.map(({ front }) => front).filter(({ state }) => state !== 'off');
  return fronted.length === 0 ? [] : [`kubelet     ${countStates(fronted, paint)}`];
}

/** Its reason stands in a problem, where it is one. */
function checkpointLine({ broker, checkpoint }: StatusView, now: number, paint: Paint): string {
  const written = checkpoint.lastWrite === '' ? 'never written' : `written ${ago(checkpoint.lastWrite, now)} ago`;
  const state = paint(toneOfState(checkpoint.state), visible(checkpoint.state));
  const isTold = broker.problems.some((problem) => problem.includes(checkpoint.reason));
  const reason = checkpoint.reason === '' || isTold ? '' : ` (${visible(checkpoint.reason)})`;
  return `${state}${reason}, generation ${checkpoint.generation}, ${bytes(checkpoint.bytes)}, ${written}`;
}

function countStates(all: readonly { readonly state: string }[], paint: Paint): string {
  const counts = new Map<string, number>();
  for (const { state } of all) counts.set(state, (counts.get(state) ?? 0) + 1);
  if (counts.size === 0) return 'none';
  return [...counts].map(([state, count]) => `${count} ${paint(toneOfState(state), visible(state))}`).join(', ');
}

/** Plugins that are not ready, and those that are and are in trouble all the same. */
function attention({ broker, plugins }: StatusView, now: number, paint: Paint): string {
  const isTroubled = ({ state, reason }: PluginView): boolean =>
    state === 'ready' && broker.phase !== 'restoring' && TROUBLED_REASONS.has(reason);
  const listed = plugins.filter((plugin) => !QUIET_STATES.has(plugin.state) || isTroubled(plugin));
  if (listed.length === 0) return '';
  const columns: readonly Column<PluginView>[] = [
    { title: 'LOOK AT', of: (plugin) => plugin.name },
    { title: 'STATE', of: (plugin) => plugin.state, tone: (plugin) => toneOfState(plugin.state) },
    { title: 'REASON', of: (plugin) => plugin.reason },
    { title: 'FOR', of: (plugin) => ago(plugin.stateSince, now) },
    { title: 'TYPE', of: (plugin) => plugin.type },
  ];
  const rest = listed.length - MOST_LISTED;
  const more = rest > 0 ? `and ${rest} more: plugin-broker plugins\n` : '';
  const [first] = listed;
  const example = first === undefined ? '' : `why, and what to do: plugin-broker explain ${visible(first.name)}\n`;
  return `\n${table(columns, listed.slice(0, MOST_LISTED), paint)}${more}${example}`;
}

/** Plugins that are refused again and again: one that never came in has no state. */
function refusedAgain({ refused }: StatusView, now: number, paint: Paint): string {
  if (refused.length === 0) return '';
  const listed = refused.slice(0, MOST_LISTED);
  const columns: readonly Column<RefusedView>[] = [
    { title: 'REFUSED', of: ({ plugin, socket }) => (plugin === '' ? socket : plugin), tone: () => 'bad' },
    { title: 'REASON', of: ({ reason }) => reason },
    { title: 'TIMES', of: ({ refusals }) => refusals },
    { title: 'FOR', of: ({ since }) => ago(since, now) },
    { title: 'LAST', of: ({ last }) => `${ago(last, now)} ago` },
  ];
  const why = listed.map(({ message }) => `  ${visible(message)}\n`).join('');
  const more =
    refused.length > listed.length ? `and ${String(refused.length - listed.length)} more: plugin-broker events\n` : '';
  return `\n${table(columns, listed, paint)}${more}why:\n${why}`;
}
