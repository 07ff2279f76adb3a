// The questions of api/v1 (docs/status-page.md#api): the same answers as the commands have, as JSON.
import type { Buffer } from 'node:buffer';
import { answer, problem, type Answer } from '../model/answer.js';
import type { BrokerEvent } from '../model/event.js';
import type { DevicePage } from '../model/page-views.js';
import { describeReason } from '../model/reasons.js';
import type { ExplainView } from '../model/views.js';
import { overHttp } from './over-http.js';
import type { Picture } from './picture.js';
import type { PageSource } from './ports.js';

/** Devices of a page, and events of an answer, where nobody says otherwise and at most. */
const PAGE = 200;
const MOST_DEVICES = 1000;
const MOST_EVENTS = 500;
/** Facts that no event reports are never older than this in an answer, milliseconds. */
const MOST_AGE_MS = 5000;

/** The ports of the API. */
export interface ApiPorts {
  readonly source: PageSource;
  readonly picture: Picture;
}

/** Answers questions. A question that cannot be understood has INVALID_ARGUMENT, a name that nothing has NOT_FOUND. */
export class PageApi {
  readonly #ports: ApiPorts;

  constructor(ports: ApiPorts) {
    this.#ports = ports;
  }

  /** The version of the answer of `status`: the same text, the same answer. */
  get version(): string {
    const { source } = this.#ports;
    const { startedAt, phase } = source.head().broker;
    return `${String(Date.parse(startedAt))}-${String(source.seq())}-${phase}`;
  }

  /** The whole picture (a PageSnapshot), as JSON in pieces. */
  async status(): Promise<readonly Buffer[]> {
    let whole: readonly Buffer[] = [];
    await this.#ports.picture.whole((snapshot) => (whole = snapshot), MOST_AGE_MS);
    return whole;
  }

  /** A client opens the page, and follows in a moment: the slowest part is begun. Never rejects. */
  async expect(): Promise<void> {
    const { picture } = this.#ports;
    // The follower hears of it if this goes wrong again.
    await picture.refresh(Infinity).catch(() => undefined);
  }

  /** Devices of a resource, those that cannot be given out first. */
  async devices(name: string, query: URLSearchParams): Promise<Answer<DevicePage>> {
    const from = numberOf(query, 'from', 0);
    const limit = numberOf(query, 'limit', PAGE);
    if (from === undefined || limit === undefined)
      return problem('INVALID_ARGUMENT', 'from and limit are whole numbers');
    const devices = await this.#ports.source.devices(name);
    if (devices === undefined) return problem('NOT_FOUND', `no resource is called ${name}`);
    const page = devices.slice(from, from + Math.min(limit, MOST_DEVICES));
    const shown = page.map(({ id, health, numaNodes, lease }) => ({ id, health, numaNodes, lease }));
    return answer({ name, total: devices.total, from, devices: shown });
  }

  /** The newest events that are kept, of one plugin or of all, oldest first. */
  async events(
    query: URLSearchParams,
    signal: AbortSignal,
  ): Promise<Answer<{ readonly events: readonly BrokerEvent[] }>> {
    const since = numberOf(query, 'since', 0);
    const limit = numberOf(query, 'limit', MOST_EVENTS);
    if (since === undefined || limit === undefined)
      return problem('INVALID_ARGUMENT', 'since and limit are whole numbers');
    const { source } = this.#ports;
    const plugin = query.get('plugin') ?? '';
    const found: BrokerEvent[] = [];
    // The newest events are at hand; the answer has so few that older ones need not be looked for.
    if (plugin === '') found.push(...source.recent().filter(({ seq }) => seq >= since));
    else for await (const event of source.events({ since, plugin, follow: false }, signal)) found.push(event);
    const events = found.slice(-Math.min(Math.max(limit, 1), MOST_EVENTS)).map(overHttp);
    return answer({ events });
  }

  /** Explains the state of a plugin or a socket, and the remedy. */
  async explain(query: URLSearchParams): Promise<Answer<ExplainView>> {
    const subject = query.get('subject') ?? '';
    if (subject === '')
      return problem(
        'INVALID_ARGUMENT',
        'subject is missing: the name of a plugin, type/name, or the path of a socket',
      );
    const found = await this.#ports.source.explain(subject);
    if (!found.ok) return found;
    const events = found.value.events.slice(-MOST_EVENTS);
    return answer({ ...found.value, events });
  }

  /** The meaning of a code of the table of reasons, and the remedy. */
  reason(query: URLSearchParams): Answer<{ readonly code: string; readonly about: string; readonly remedy: string }> {
    const code = query.get('code') ?? '';
    if (!/^[\w-]{1,64}$/.test(code))
      return problem('INVALID_ARGUMENT', 'code is missing: a code of the table of reasons');
    const { about, remedy } = describeReason(code);
    return answer({ code, about, remedy });
  }
}

/** A whole number of the query; undefined where it is none. */
function numberOf(query: URLSearchParams, name: string, otherwise: number): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return otherwise;
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
