// The buckets as an operator sees them.
import type { Clock } from '../kernel/clock.js';
import type { PenaltyView } from '../model/flood.js';
import type { FloodSettings } from '../model/settings.js';
import type { FloodRuleView, LimitView } from '../model/views.js';
import type { Bucket } from './bucket.js';
import type { Limiter } from './limiter.js';
import { quarantineLeftMs } from './penalty.js';
import type { UpdatePacer } from './update-pacer.js';

const UNPUNISHED: PenaltyView = { strikes: 0, quarantinedUntil: undefined };

/** Both times: differences use the monotonic one, views show the wall clock. */
interface Moment {
  readonly nowMs: number;
  readonly wallMs: number;
}

/** Strikes of a bucket, and until when it is in quarantine in epoch milliseconds, if it is. */
export function penaltyView(bucket: Bucket | undefined, clock: Clock): PenaltyView {
  if (bucket === undefined) return UNPUNISHED;
  const nowMs = clock.mono();
  const penalty = bucket.penalty(nowMs);
  const leftMs = quarantineLeftMs(penalty, nowMs);
  const quarantinedUntil = leftMs > 0 ? clock.wall() + leftMs : undefined;
  return { strikes: penalty.strikesAtMs.length, quarantinedUntil };
}

/** The row of a bucket of `register`. */
function registerView(bucket: Bucket, { nowMs, wallMs }: Moment): LimitView {
  const penalty = bucket.penalty(nowMs);
  const leftMs = quarantineLeftMs(penalty, nowMs);
  return limiterView('register', bucket.limiter, {
    plugin: bucket.plugin,
    uid: bucket.uid,
    mode: bucket.policy.mode,
    strikes: penalty.strikesAtMs.length,
    quarantinedUntil: leftMs > 0 ? new Date(wallMs + leftMs).toISOString() : '',
    exceeded: bucket.exceeded,
    slowing: slowingOf(bucket, leftMs, nowMs),
    source: bucket.source,
  });
}

/** The rows of buckets of `register`, each of the moment when it is taken; `only` of these plugins and of nobody's. */
export function* registerViews(
  buckets: Iterable<Bucket>,
  clock: Clock,
  only: ReadonlySet<string> | undefined,
): Generator<LimitView> {
  for (const bucket of buckets) {
    const { plugin } = bucket;
    const isWanted = plugin === '' || only?.has(plugin) !== false;
    if (isWanted) yield registerView(bucket, { nowMs: clock.mono(), wallMs: clock.wall() });
  }
}

/** The row of a session's bucket of `updates`. */
export function updatesView(pacer: UpdatePacer): LimitView {
  const { session, policy } = pacer;
  return limiterView('updates', pacer.limiter, {
    plugin: `${session.type}/${session.name}`,
    uid: session.uid,
    mode: policy.flood.mode,
    strikes: 0,
    quarantinedUntil: '',
    exceeded: pacer.exceeded,
    slowing: pacer.slowing,
    source: pacer.source,
  });
}

/** The row of a bucket that is no plugin's: it has no strikes, and no rule changes it. */
export function nobodysView(
  limit: string,
  limiter: Limiter,
  { uid, mode, exceeded, slowing }: Pick<LimitView, 'uid' | 'mode' | 'exceeded' | 'slowing'>,
): LimitView {
  const rest = { plugin: '', strikes: 0, quarantinedUntil: '', source: 'flood' };
  return limiterView(limit, limiter, { ...rest, uid, mode, exceeded, slowing });
}

/** All buckets by the rule that set them, in the order in which they are met; the defaults come first, even unused. */
export function ruleViews(buckets: Iterable<Bucket>, { mode }: FloodSettings, nowMs: number): FloodRuleView[] {
  const unused = { source: 'flood', mode, buckets: 0, slowed: 0, quarantined: 0, strikes: 0 };
  const bySource = new Map<string, FloodRuleView>([[unused.source, unused]]);
  for (const bucket of buckets) {
    const penalty = bucket.penalty(nowMs);
    const leftMs = quarantineLeftMs(penalty, nowMs);
    const sum = bySource.get(bucket.source);
    bySource.set(bucket.source, {
      source: bucket.source,
      mode: bucket.policy.mode,
      buckets: (sum?.buckets ?? 0) + 1,
      slowed: (sum?.slowed ?? 0) + (leftMs > 0 || slowingOf(bucket, leftMs, nowMs) === '' ? 0 : 1),
      quarantined: (sum?.quarantined ?? 0) + (leftMs > 0 ? 1 : 0),
      strikes: (sum?.strikes ?? 0) + penalty.strikesAtMs.length,
    });
  }
  return [...bySource.values()];
}

function slowingOf(bucket: Bucket, leftMs: number, nowMs: number): string {
  if (leftMs > 0) return 'quarantined';
  return bucket.slowing !== undefined && bucket.slowing.untilMs > nowMs ? bucket.slowing.word : '';
}

type OfLimiter = 'limit' | 'permits' | 'burst' | 'intervalMs' | 'nextInMs';

/** One literal: a view that is spread into another costs ten times as much, and there are thousands. */
function limiterView(limit: string, limiter: Limiter, rest: Omit<LimitView, OfLimiter>): LimitView {
  const { burst, intervalMs } = limiter.settings;
  const { plugin, uid, mode, strikes, quarantinedUntil, exceeded, slowing, source } = rest;
  return {
    limit,
    permits: limiter.permits(),
    burst,
    intervalMs,
    // Above one permit the next one is of no interest; and views have whole numbers.
    nextInMs: Math.ceil(limiter.nextInMs()),
    plugin,
    uid,
    mode,
    strikes,
    quarantinedUntil,
    exceeded,
    slowing,
    source,
  };
}
