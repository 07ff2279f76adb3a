// Reloads the file, all or nothing: a good file replaces the policy in one step, a bad one changes nothing and is reported.
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import type { ReloadView } from '../model/views.js';
import { changeText, diffForms, type Change } from './diff.js';
import { everyProblem } from './every-problem.js';
import { makeGeneration, takeWhileRunning, type LiveConfig } from './live-config.js';
import type { CompileGlob, FormSource, HostFacts } from './ports.js';
import { problemText, type ConfigProblem } from './problem.js';

/** The outcome of a reload. */
export type ReloadOutcome =
  | { readonly kind: 'refused'; readonly problems: readonly ConfigProblem[] }
  | {
      readonly kind: 'applied' | 'unchanged';
      readonly changes: readonly Change[];
      readonly needRestart: readonly Change[];
    };

/** The parts of a reload. */
export interface ReloadParts {
  readonly source: FormSource;
  readonly live: LiveConfig;
  readonly rootFlag: string | undefined;
  readonly around: HostFacts;
  readonly compile: CompileGlob;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventSink;
}

/** Changes named in one log line; more are counted. */
const NAMED_CHANGES = 20;
/** Mistakes named to an operator, in the order in which they have to be mended. */
const NAMED_PROBLEMS = 100;

/** Re-reads the file on request, one at a time. Requests that come while one runs share the next run. */
export class PolicyReload {
  readonly #parts: ReloadParts;
  #running: Promise<ReloadOutcome> | undefined;
  #next: Promise<ReloadOutcome> | undefined;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
  }

  /** Reads the file and takes over its changes. Never rejects. @param cause for the log: `SIGHUP` or `the file changed` */
  reload(cause: string): Promise<ReloadOutcome> {
    if (this.#running === undefined) {
      this.#running = this.#run(cause).finally(() => (this.#running = undefined));
      return this.#running;
    }
    this.#next ??= this.#running.then(() => {
      this.#next = undefined;
      return this.reload(cause);
    });
    return this.#next;
  }

  async #run(cause: string): Promise<ReloadOutcome> {
    try {
      return await this.#take(cause);
    } catch (failure) {
      // A file must never end the daemon: the configuration in force stays, and the bug is logged.
      const message = `it cannot be used: ${failure instanceof Error ? failure.message : String(failure)}`;
      return this.#refuse([{ path: [], message, remedy: 'report this as a bug, with the file' }], cause);
    }
  }

  async #take(cause: string): Promise<ReloadOutcome> {
    const { source, rootFlag, around, compile, live } = this.#parts;
    const read = await source.read();
    const problems = everyProblem(read, rootFlag, around);
    if (problems.length > 0 || !('form' in read)) return this.#refuse(problems, cause);
    const before = live.current.form;
    const taken = takeWhileRunning(before, read.form);
    const changes = diffForms(before, taken);
    const needRestart = diffForms(taken, read.form);
    const now = new Date(this.#parts.clock.wall()).toISOString();
    if (changes.length > 0) live.replace(makeGeneration(taken, rootFlag, around, compile), now);
    else live.confirm(now);
    this.#report(cause, changes, needRestart);
    return { kind: changes.length > 0 ? 'applied' : 'unchanged', changes, needRestart };
  }

  #report(cause: string, changes: readonly Change[], needRestart: readonly Change[]): void {
    const { log, events, source } = this.#parts;
    const facts = { cause, changes: named(changes) };
    if (changes.length === 0) {
      const message =
        source.file === undefined
          ? `there is no config file to read again (${cause}): the defaults stay in force`
          : `${source.name} was read again (${cause}) and says what is in force already`;
      log.info('config.reload-unchanged', message, { cause });
    } else {
      const message = `the policy of ${source.name} is in force (${cause}): ${named(changes).join(', ')}`;
      log.info('config.reloaded', message, facts);
      events.record({ type: 'policy', message });
    }
    if (needRestart.length > 0) {
      log.warn(
        'config.restart-needed',
        `${needRestart.length} changed settings of ${source.name} keep their old values until the daemon is restarted: ${named(needRestart).join(', ')}`,
        { changes: named(needRestart) },
      );
    }
  }

  #refuse(problems: readonly ConfigProblem[], cause: string): ReloadOutcome {
    const { log, events, source, live } = this.#parts;
    const lines = problems.map((problem) => problemText(problem, source.file));
    const more = lines.length > 1 ? ` (and ${lines.length - 1} more problems)` : '';
    const error = `${lines[0] ?? 'unreadable'}${more}`;
    live.reject(error);
    const message = `the old policy stays in force, because ${source.name} cannot be used (${cause}): ${error}`;
    log.error('config.reload-refused', message, { cause, problems: lines.slice(0, NAMED_CHANGES) });
    events.record({ type: 'policy', message });
    return { kind: 'refused', problems };
  }
}

/** An outcome as operators are shown it. */
export function reloadView(outcome: ReloadOutcome, { name, file }: FormSource): ReloadView {
  if (outcome.kind === 'refused') {
    const problems = outcome.problems.slice(0, NAMED_PROBLEMS).map((problem) => problemText(problem, file));
    return { outcome: 'refused', source: name, changes: [], needRestart: [], problems };
  }
  const { kind, changes, needRestart } = outcome;
  return { outcome: kind, source: name, changes: named(changes), needRestart: named(needRestart), problems: [] };
}

function named(changes: readonly Change[]): string[] {
  const texts = changes.slice(0, NAMED_CHANGES).map(changeText);
  return changes.length > NAMED_CHANGES ? [...texts, `${changes.length - NAMED_CHANGES} more`] : texts;
}
