// The HTTP side of the registrar: /healthz as the original has it, and the pages that flags add.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Session } from 'node:inspector';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { asError } from '../kernel/clock.js';
import { Exit, failed } from './exit.js';
import type { Registration } from './registration.js';
import type { RegistrarLog } from './registrar-log.js';
import type { RegistrarOptions } from './options.js';

/** The parts of the pages. */
export interface PagesParts {
  readonly options: Pick<RegistrarOptions, 'timeoutMs' | 'enablePprof' | 'metrics' | 'readyz'>;
  readonly registrations: readonly Registration[];
  readonly argv: readonly string[];
  readonly log: RegistrarLog;
}

/** One answer. */
interface Page {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

const TEXT = 'text/plain; charset=utf-8';
const NOT_FOUND: Page = { status: 404, body: '404 page not found\n' };
/** Any user of the machine may connect, and each connection keeps what it has sent of a head. */
const LIMITS = {
  maxHeaderSize: 8192,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  connectionsCheckingInterval: 1000,
} as const;
const MOST_CONNECTIONS = 512;
/** The longest CPU profile, in seconds. */
const LONGEST_PROFILE_S = 300;

/**
 * Serves on `host:port`; without a host on all interfaces.
 *
 * @throws Exit when it cannot listen
 */
export async function servePages(address: string, parts: PagesParts): Promise<Server> {
  const health = shared(() => healthPage(parts));
  const server = createServer(LIMITS, (request, response) => void respond(request, response, parts, health));
  keepNewest(server);
  try {
    const { host, port } = parseAddress(address);
    server.listen(host === '' ? { port } : { port, host });
    await once(server, 'listening');
  } catch (failure) {
    const why = failure instanceof Exit ? failure.message : asError(failure).message;
    throw failed('HttpListenFailed', `cannot listen on ${address}: ${why}`);
  }
  return server;
}

/** Of too many connections the oldest ends: a probe is answered in milliseconds, and those that were opened to stay are older. */
function keepNewest(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    const [oldest] = open;
    if (open.size > MOST_CONNECTIONS) oldest?.destroy();
  });
}

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw failed('HttpListenFailed', 'it is not HOST:PORT');
  return { host: bracketed ?? plain, port };
}

/** Shares one answer among all requests that come while it is made: each would open a connection, and any user may ask. */
function shared(make: () => Promise<Page>): () => Promise<Page> {
  let running: Promise<Page> | undefined;
  return () => (running ??= make().finally(() => (running = undefined)));
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  parts: PagesParts,
  health: () => Promise<Page>,
): Promise<void> {
  let page: Page;
  try {
    page = await pageFor(new URL(request.url ?? '/', 'http://registrar'), parts, health);
  } catch (failure) {
    page = { status: 500, body: asError(failure).message };
  }
  response.writeHead(page.status, {
    'content-type': page.type ?? TEXT,
    'content-length': Buffer.byteLength(page.body),
  });
  response.end(page.body);
}

async function pageFor({ pathname, searchParams }: URL, parts: PagesParts, health: () => Promise<Page>): Promise<Page> {
  const { options, registrations } = parts;
  if (pathname === '/healthz') return health();
  if (pathname === '/readyz' && options.readyz) return readyPage(registrations);
  if (pathname === '/metrics' && options.metrics) return metricsPage(registrations);
  if (!options.enablePprof) return NOT_FOUND;
  if (pathname === '/debug/pprof/') return { status: 200, body: 'cmdline\nprofile?seconds=30\n' };
  if (pathname === '/debug/pprof/cmdline') return { status: 200, body: parts.argv.join('\0') };
  if (pathname === '/debug/pprof/profile') return profilePage(Number(searchParams.get('seconds') ?? 30));
  return NOT_FOUND;
}

/** The file, and a call on it: the first driver that is not well decides. */
async function healthPage({ options, registrations, log }: PagesParts): Promise<Page> {
  for (const registration of registrations) {
    const { socket } = registration;
    const found = socket.look();
    if (found === 'missing') return { status: 404, body: 'registration socket does not exist' };
    if (found === 'not-a-socket') return { status: 500, body: `${socket.path} is not a socket` };
    try {
      await registration.probe(options.timeoutMs);
    } catch (failure) {
      log.error('Health check failed', { driver: registration.driver, error: asError(failure).message });
      return { status: 500, body: asError(failure).message };
    }
  }
  log.info(5, 'Health check succeeded');
  return { status: 200, body: 'ok' };
}

function readyPage(registrations: readonly Registration[]): Page {
  const waiting = registrations.filter(({ isRegistered }) => isRegistered !== true).map(({ driver }) => driver);
  if (waiting.length === 0) return { status: 200, body: 'ok' };
  return { status: 503, body: `not registered by the kubelet yet: ${waiting.join(', ')}` };
}

function metricsPage(registrations: readonly Registration[]): Page {
  const metric = (name: string, type: string, help: string, value: (one: Registration) => number): string => {
    const samples = registrations.map((one) => `${name}{driver="${one.driver}"} ${value(one)}\n`);
    return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${samples.join('')}`;
  };
  const counter = (what: string, help: string, value: (one: Registration) => number): string =>
    metric(`csi_registrar_${what}_total`, 'counter', help, value);
  const body = [
    counter('get_info', 'GetInfo calls answered.', ({ counts }) => counts.getInfo),
    counter('accepted', 'Notifications that the driver was registered.', ({ counts }) => counts.accepted),
    counter('refused', 'Notifications that the driver was refused.', ({ counts }) => counts.refused),
    metric('csi_registrar_registered', 'gauge', 'Whether the last notification said registered.', (one) =>
      one.isRegistered === true ? 1 : 0,
    ),
  ].join('');
  return { status: 200, body, type: 'text/plain; version=0.0.4; charset=utf-8' };
}

/** A CPU profile in the format of Chrome's developer tools. */
async function profilePage(seconds: number): Promise<Page> {
  if (!(seconds > 0 && seconds <= LONGEST_PROFILE_S)) return { status: 400, body: 'seconds must be from 1 to 300\n' };
  const session = new Session();
  session.connect();
  const post = promisify<string, unknown>((method, done) => session.post(method, done));
  try {
    await post('Profiler.enable');
    await post('Profiler.start');
    await pause(seconds * 1000);
    const { profile } = (await post('Profiler.stop')) as { readonly profile: object };
    return { status: 200, body: JSON.stringify(profile), type: 'application/json' };
  } finally {
    session.disconnect();
  }
}
