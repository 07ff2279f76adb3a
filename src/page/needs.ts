// The needs: problems that an operator should act on, each with its remedy and the command to type. Pure.
import { hasUnseen } from '../kernel/visible.js';
import type { BrokerEvent } from '../model/event.js';
import { describeReason, isOfTime } from '../model/reasons.js';
import { TROUBLED_REASONS } from '../model/state-reasons.js';
import type { LeaseRow, Need, PagePlace } from '../model/page-views.js';
import type { ExplainView, LimitView, PluginView, ResourceView, StatusView } from '../model/views.js';
import { keptOut, topOf, type Quarantine } from './quarantines.js';

/** Needs of one kind and reason that are listed one by one; the rest is counted. */
const EACH = 8;
/** Refusals older than this are no news, milliseconds. */
const REFUSED_MS = 15 * 60_000;
/** Kinds in the order in which they are shown. */
const ORDER = ['problem', 'quarantined', 'rejected', 'refused', 'held', 'orphaned', 'lease', 'front'];

/** The facts in which needs are found: Picture (page/picture) has them of its PageSource. */
export interface NeedFacts {
  readonly place: PagePlace;
  readonly head: Omit<StatusView, 'plugins' | 'resources'>;
  readonly plugins: readonly PluginView[];
  /** When a held one is given up, RFC 3339; empty where no clock runs for it. */
  readonly keptUntil: (plugin: PluginView) => string;
  readonly resources: readonly Pick<ResourceView, 'name' | 'front'>[];
  readonly limits: readonly LimitView[];
  readonly leases: readonly LeaseRow[];
  /** The newest events, oldest first. */
  readonly recent: readonly BrokerEvent[];
  /** Epoch milliseconds. */
  readonly now: number;
  readonly why: (subject: string, plugins: readonly PluginView[]) => ExplainView | undefined;
}

/** A need that is not put into words yet: of many of one kind most are only counted. */
interface Found {
  readonly kind: string;
  readonly reason: string;
  readonly subject: string;
  readonly until: string;
  readonly plugins: readonly PluginView[];
  /** The uid that is kept out in the name of a plugin of another one. */
  readonly stranger?: number;
}

/** The facts looked up again and again, by plugin (`type/name`). */
interface ByPlugin {
  readonly entries: ReadonlyMap<string, readonly PluginView[]>;
  /** Plugins in quarantine. */
  readonly keptOut: ReadonlyMap<string, Quarantine>;
}

/** Everything that needs somebody, the worst first. */
export function needsOf(facts: NeedFacts): Need[] {
  const entries = byKey(facts.plugins);
  const { own, strangers } = keptOut(facts.limits, entries);
  const by = { entries, keptOut: own };
  const groups = new Map<string, { readonly shown: Need[]; more: number }>();
  for (const found of [
    ...quarantines([...own.values(), ...strangers], by),
    ...states(facts, by),
    ...refusals(facts, by),
  ]) {
    const key = `${found.kind} ${found.reason}`;
    const group = groups.get(key) ?? { shown: [], more: 0 };
    groups.set(key, group);
    if (group.shown.length < EACH) group.shown.push(told(found, facts));
    else group.more += 1;
  }
  const { address } = facts.place;
  const plugins = [...groups.values()].flatMap(({ shown, more }) =>
    shown.map((need, at) => (at === shown.length - 1 ? { ...need, more } : need)),
  );
  const rank = ({ kind }: Need): number => (ORDER.indexOf(kind) + ORDER.length + 1) % (ORDER.length + 1);
  return [...problems(facts), ...plugins, ...used(facts)]
    .sort((a, b) => rank(a) - rank(b))
    .map((need) => (address === '' ? need : { ...need, command: addressed(need.command, address) }));
}

/** The command for a broker that is not where commands look by themselves. */
function addressed(command: string, address: string): string {
  return OF_THE_SOCKET.test(command) ? `${command} --address ${quoted(address)}` : command;
}

/** Commands that ask broker.sock. */
const OF_THE_SOCKET = /^plugin-broker (explain|pardon|allocations reset)\b/;

function problems({ head, place }: NeedFacts): Need[] {
  const { broker, checkpoint, policy, ledger } = head;
  const needs: Need[] = [];
  const say = (key: string, what: string, remedy: string, command: string): void =>
    void needs.push({ key, kind: 'problem', subject: '', what, remedy, command, until: '', more: 0 });
  const rest = broker.problems.filter(
    (problem) => !isAbout(problem, checkpoint.reason) && !isAbout(problem, policy.error),
  );
  if (checkpoint.reason !== '' && checkpoint.state !== 'ok') {
    const [remedy, command] = CHECKPOINT[checkpoint.state] ?? OTHER;
    say(
      'checkpoint',
      sentence(checkpoint.reason),
      remedy,
      command.replace('STATE', () => quoted(place.state)),
    );
  }
  if (policy.error !== '') {
    const what = `A newer policy is not in force, the one before it stays: ${policy.error}`;
    const remedy = 'Correct the file; it is read again as soon as it changes. This says what is wrong, line by line:';
    say('policy', sentence(what), remedy, `plugin-broker check-config ${quoted(policy.source)}`);
  }
  if (ledger.state !== 'ok' && ledger.state !== 'unread') {
    const what =
      ledger.state === 'stale'
        ? 'The checkpoint is an older one: leases that were newer may be lost.'
        : 'Nobody knows which devices were given out, so none are given out now.';
    const remedy = 'When no process uses devices any more, or all that do are known, begin anew:';
    say('ledger', what, remedy, 'plugin-broker allocations reset');
  }
  for (const problem of rest) say(`problem ${problem}`, sentence(problem), ...OTHER);
  return needs;
}

const OTHER = ['This looks at the machine and says what to do:', 'plugin-broker doctor'] as const;
const CHECKPOINT: Readonly<Partial<Record<string, readonly [remedy: string, command: string]>>> = {
  'not-writable': [
    'Plugins are served from memory, but a restart of the broker would forget what is new. Make room on the disk, or repair it; writing is tried again by itself.',
    'df -h STATE',
  ],
  'newer-format': [
    'A newer version wrote it, and it is left alone. Run that version, or move the file away.',
    'ls -l STATE',
  ],
  recovered: [
    'An older generation was used. A registration made since then comes back when its plugin registers.',
    'plugin-broker checkpoint show',
  ],
};

function isAbout(problem: string, part: string): boolean {
  return part !== '' && problem.includes(part);
}

function quarantines(all: readonly Quarantine[], { entries, keptOut: own }: ByPlugin): Found[] {
  return all.map((one) => {
    const { subject, until, uid } = one;
    const found = { kind: 'quarantined', reason: '', subject, until, plugins: entries.get(subject) ?? [] };
    return own.get(subject) === one ? found : { ...found, stranger: uid };
  });
}

function states({ head, keptUntil }: NeedFacts, { entries, keptOut: until }: ByPlugin): Found[] {
  const found: Found[] = [];
  const isRestoring = head.broker.phase === 'restoring';
  for (const [subject, own] of entries) {
    const top = topOf(own);
    if (top === undefined || until.has(subject)) continue;
    const { state, reason } = top;
    const isHeld = state === 'held' && reason !== 'replaced';
    const isTroubled = TROUBLED_REASONS.has(reason) && !isRestoring && (state === 'ready' || state === 'restored');
    if (isHeld || state === 'rejected' || state === 'orphaned' || state === 'quarantined' || isTroubled) {
      const kind = isTroubled ? 'held' : state;
      found.push({ kind, reason, subject, until: keptUntil(top), plugins: own });
    }
  }
  return found;
}

/** Those that knocked lately, once or again and again, were refused, and have not come in since. */
function refusals({ head, recent, now }: NeedFacts, { entries, keptOut: until }: ByPlugin): Found[] {
  const last = new Map<string, Pick<BrokerEvent, 'time' | 'reason'>>();
  for (const { plugin, socket, reason, last: time } of head.refused)
    last.set(plugin === '' ? socket : plugin, { time, reason });
  for (const event of recent) {
    const subject = event.plugin === '' ? event.socket : event.plugin;
    if (event.type === 'refused' && subject !== '') {
      const reason = isOfTime(event.reason) ? (last.get(subject)?.reason ?? event.reason) : event.reason;
      last.set(subject, { time: event.time, reason });
    }
    if (event.type === 'registered') last.delete(subject);
  }
  const found: Found[] = [];
  for (const [subject, { time, reason }] of last) {
    const own = entries.get(subject) ?? [];
    const top = topOf(own);
    const isOld =
      now - Date.parse(time) > REFUSED_MS || (top !== undefined && Date.parse(time) < Date.parse(top.stateSince));
    const isShown = top !== undefined && top.state !== 'ready' && top.state !== 'gone';
    if (!isOld && !isShown && !until.has(subject))
      found.push({ kind: 'refused', reason, subject, until: '', plugins: own });
  }
  return found;
}

function told(found: Found, facts: NeedFacts): Need {
  const { kind, reason, subject, until, plugins, stranger } = found;
  if (stranger !== undefined) return toldOfStranger(found, stranger);
  const { why } = facts;
  const view = why(subject, plugins);
  const name = nameOf(subject);
  // In a terminal a pasted control character acts as a key press, even in quotes, and owners of sockets choose their names.
  const given = hasUnseen(name) ? undefined : quoted(name);
  const verb = kind === 'quarantined' ? 'pardon' : 'explain';
  const command = `plugin-broker ${given === undefined ? 'events' : `${verb} ${given}`}`;
  const what = view?.why ?? describeReason(reason).about;
  const remedy = describeReason(kind === 'quarantined' ? 'QUARANTINED' : reason === '' ? (view?.reason ?? '') : reason);
  const isNamed = given === undefined || !/\bNAME\b/.test(remedy.remedy);
  return {
    key: `${kind} ${subject}`,
    kind,
    subject,
    what,
    remedy: isNamed ? remedy.remedy : remedy.remedy.replaceAll(/\bNAME\b/g, () => given),
    command,
    until,
    more: 0,
  };
}

function toldOfStranger({ kind, subject, until }: Found, uid: number): Need {
  const who = `uid ${String(uid)}`;
  const name = nameOf(subject);
  return {
    key: `${kind} ${subject} ${who}`,
    kind,
    subject,
    what: `A program of ${who} registers in the name of this plugin again and again, and is kept out. The plugin, which is of another uid, is not.`,
    remedy: `Find the program of ${who} and stop it; the plugin itself needs nothing. This names its sockets:`,
    command: `plugin-broker events${hasUnseen(name) ? '' : ` --plugin ${quoted(name)}`}`,
    until,
    more: 0,
  };
}

/** The problems of leases and resources. */
function used({ leases, resources }: NeedFacts): Need[] {
  const needs: Need[] = [];
  const impaired = leases.filter(({ state }) => state === 'impaired');
  const [first] = impaired;
  if (first !== undefined) {
    const { about, remedy } = describeReason(first.reason);
    const what = `The lease ${first.key} is impaired: ${about}`;
    const more = impaired.length - 1;
    needs.push({
      key: 'lease',
      kind: 'lease',
      subject: '',
      what,
      remedy,
      command: 'plugin-broker allocations',
      until: '',
      more,
    });
  }
  for (const { name, front } of resources) {
    if (front.state !== 'refused' && front.state !== 'too-large' && !front.stays) continue;
    const has = front.stays ? name : `The kubelet does not get ${name}`;
    const what = sentence(`${has}: ${front.reason === '' ? front.state : front.reason}`);
    const [remedy, command] = OTHER;
    needs.push({ key: `front ${name}`, kind: 'front', subject: name, what, remedy, command, until: '', more: 0 });
  }
  return needs;
}

function byKey(plugins: readonly PluginView[]): Map<string, PluginView[]> {
  const groups = new Map<string, PluginView[]>();
  for (const plugin of plugins) {
    const key = keyOf(plugin);
    const own = groups.get(key);
    if (own === undefined) groups.set(key, [plugin]);
    else own.push(plugin);
  }
  return groups;
}

/** Of `type/name`, or a path. */
function nameOf(subject: string): string {
  return subject.startsWith('/') ? subject : subject.slice(subject.indexOf('/') + 1);
}

function keyOf({ type, name }: PluginView): string {
  return `${type}/${name}`;
}

function sentence(text: string): string {
  const whole = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}

/** As a shell takes it as one word. */
function quoted(word: string): string {
  return /^[\w./:@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
