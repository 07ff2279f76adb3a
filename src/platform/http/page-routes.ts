// The status page, and the API that it asks (docs/status-page.md#api).
import type { Sharer } from '../../kernel/user-shares.js';
import type { PageApi } from '../../page/api.js';
import type { Audience } from '../../page/audience.js';
import type { Answer as Answered, ProblemCode } from '../../model/answer.js';
import { oneATurn } from '../time/next-turn.js';
import { plainText, type Answer, type Asked, type Route, type Routes, type Streaming } from './router.js';

const JSON_TYPE = 'application/json; charset=utf-8';
/** No script but ours, no text that becomes one, and nothing is loaded from or told to anybody else. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');
const FOR_EVER = { 'cache-control': 'public, max-age=31536000, immutable' };
const STATUS: Readonly<Record<ProblemCode, number>> = {
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  FAILED_PRECONDITION: 400,
};
const DEVICES = '/api/v1/resources/';

/** The files of the page; names have a hash of the contents. */
export interface PageFiles {
  readonly html: string;
  readonly script: string;
  readonly scriptName: string;
  readonly style: string;
  readonly styleName: string;
}

/** The sources of the answers. */
export interface PageParts {
  readonly api: PageApi;
  readonly audience: Audience;
  /** The files, read when somebody asks for them. */
  readonly files: () => Promise<PageFiles>;
  /** Their names, without reading them. */
  readonly names: Pick<PageFiles, 'scriptName' | 'styleName'>;
}

/** All addresses below `/` that are for people, and for programs that ask as the page does. */
export function pageRoutes({ api, audience, files, names }: PageParts): Routes {
  const turn = oneATurn();
  const asking = (make: (asked: Asked) => Answer | Promise<Answer>): Route => ({
    isAsked: true,
    make: async (asked) => {
      // Each takes a millisecond or two, and forty may come at once.
      await turn();
      return make(asked);
    },
  });
  return new Map<string, Route>([
    [
      '/',
      {
        isEntrance: true,
        make: async () => {
          void api.expect();
          const headers = { 'content-security-policy': POLICY, 'cross-origin-opener-policy': 'same-origin' };
          return { status: 200, type: 'text/html; charset=utf-8', body: (await files()).html, headers };
        },
      },
    ],
    [`/${names.scriptName}`, file('text/javascript', async () => (await files()).script)],
    [`/${names.styleName}`, file('text/css', async () => (await files()).style)],
    [
      '/api/v1/status',
      {
        // One picture serves all requests within this: a large one costs tens of milliseconds.
        freshMs: 1000,
        make: async () => {
          const { version } = api;
          return { status: 200, type: JSON_TYPE, body: await api.status(), isLarge: true, version };
        },
      },
    ],
    [DEVICES, asking(async ({ path, query }) => json(await withName(path, (name) => api.devices(name, query))))],
    ['/api/v1/events', asking(async ({ query, signal }) => json(await api.events(query, signal)))],
    ['/api/v1/explain', asking(async ({ query }) => json(await api.explain(query)))],
    ['/api/v1/reason', asking(({ query }) => json(api.reason(query)))],
    [
      '/api/v1/stream',
      {
        isAsked: true,
        make: ({ query, lastEventId, sharer }) => follow(audience, lastEventId ?? query.get('since'), sharer),
      },
    ],
  ]);
}

function file(type: string, body: () => Promise<string>): Route {
  return {
    make: async () => ({
      status: 200,
      type: `${type}; charset=utf-8`,
      body: await body(),
      isLarge: true,
      headers: FOR_EVER,
    }),
  };
}

/** An answer, or the one sentence why there is none. */
function json(answered: Answered<unknown>): Answer {
  if (answered.ok) return { status: 200, type: JSON_TYPE, body: JSON.stringify(answered.value), isLarge: true };
  return plainText(STATUS[answered.problem.code], answered.problem.message);
}

async function withName<T>(path: string, ask: (name: string) => Promise<Answered<T>>): Promise<Answered<T>> {
  let name: string;
  try {
    name = decodeURIComponent(path.slice(DEVICES.length));
  } catch {
    return {
      ok: false,
      problem: { code: 'INVALID_ARGUMENT', message: 'the name of the resource is not well encoded' },
    };
  }
  return ask(name);
}

function follow(audience: Audience, since: string | null, sharer: Sharer): Answer | Streaming {
  const refusal = audience.refusal(sharer);
  if (refusal !== undefined) return plainText(503, refusal.message, { 'retry-after': String(refusal.retryAfterS) });
  const from = since !== null && /^\d{1,15}$/.test(since) ? Number(since) : undefined;
  return { open: (stream) => audience.join(stream, from, sharer) };
}
