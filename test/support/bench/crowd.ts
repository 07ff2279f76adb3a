// Many plugins in one process of their own, which do what a bench asks.
import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { eventually } from '../eventually.js';
import { FakePlugin, healthy } from '../fake-plugin.js';
import { RegisterClient, type Answered } from './register-client.js';
import { now } from './rows.js';
import { offer, Worker } from './worker.js';

/** Which plugins. */
export interface Crowd {
  readonly dir: string;
  /** Resources are example.com/NAME-0 and so on, sockets NAME-0.sock. */
  readonly name: string;
  readonly count: number;
}

/** How long each call took, in milliseconds, and the whole. */
export interface Timed {
  readonly each: number[];
  readonly allMs: number;
  /** When the last was answered, on the machine's clock. */
  readonly at: number;
}

/** A plugin that registers now and then while others misbehave. */
export interface Bystanding {
  readonly kubeletSocket: string;
  readonly dir: string;
  readonly everyMs: number;
  readonly forMs: number;
}

/** How long its calls took, in milliseconds, and how many were refused. */
export interface Bystander {
  readonly each: number[];
  readonly refused: number;
}

/** A plugin that is told later than this is not told: a figure of half a minute is a figure, too. Milliseconds. */
const TOLD_WITHIN = 120_000;
/** Bystanders that take turns. */
const BYSTANDERS = 160;
/** The next one, also in the next watch: in watches that follow one another the first ones would come too often. */
let bystander = 0;

const plugins = new Map<string, FakePlugin>();
const clients = new Map<string, RegisterClient>();
const watches: FSWatcher[] = [];
/** Pages that are asked for. */
const looks: AbortController[] = [];
/** Plugins that are restarting themselves. */
const restarting = new Set<Promise<void>>();

const resourceOf = (name: string): string => `example.com/${name}`;
const names = ({ name, count }: Crowd): string[] => Array.from({ length: count }, (_, nth) => `${name}-${String(nth)}`);

function clientOf(kubeletSocket: string): RegisterClient {
  const client = clients.get(kubeletSocket) ?? new RegisterClient(kubeletSocket);
  clients.set(kubeletSocket, client);
  return client;
}

async function serve(dir: string, name: string): Promise<FakePlugin> {
  const socket = path.join(dir, `${name}.sock`);
  const plugin = await FakePlugin.start({ socket, resource: resourceOf(name), devices: healthy('dev-0', 'dev-1') });
  plugins.set(name, plugin);
  return plugin;
}

async function timed(calls: readonly (() => Promise<Answered>)[], atOnce: boolean): Promise<Timed> {
  const each: number[] = [];
  const began = now();
  let last = began;
  const one = async (call: () => Promise<Answered>): Promise<void> => {
    const start = now();
    const { at, code } = await call();
    if (code !== 0) throw new Error(`a registration was answered with status ${String(code)}`);
    each.push(at - start);
    last = Math.max(last, at);
  };
  if (atOnce) await Promise.all(calls.map(one));
  else for (const call of calls) await one(call);
  return { each, allMs: last - began, at: last };
}

function register(kubeletSocket: string, crowd: Crowd, atOnce: boolean): Promise<Timed> {
  const client = clientOf(kubeletSocket);
  return timed(
    names(crowd).map((name) => () => client.register(resourceOf(name), `${name}.sock`)),
    atOnce,
  );
}

/** The deeds of a crowd. */
const crowdCalls = {
  /** Serves; registers nobody. */
  serve: async (crowd: Crowd): Promise<void> => {
    for (const name of names(crowd)) await serve(crowd.dir, name);
  },

  /** Stops and removes the sockets. */
  stop: async (crowd: Crowd): Promise<void> => {
    await Promise.all(names(crowd).map(async (name) => plugins.get(name)?.stop()));
    for (const name of names(crowd)) plugins.delete(name);
  },

  /** All at the same time over one connection. */
  registerAtOnce: ({ kubeletSocket, crowd }: { kubeletSocket: string; crowd: Crowd }): Promise<Timed> =>
    register(kubeletSocket, crowd, true),

  /** One after the other over one connection. */
  registerInTurn: ({ kubeletSocket, crowd }: { kubeletSocket: string; crowd: Crowd }): Promise<Timed> =>
    register(kubeletSocket, crowd, false),

  /** Forgets the open connection to a kubelet socket: its listener has gone. */
  hangUp: (kubeletSocket: string): void => {
    clients.get(kubeletSocket)?.close();
    clients.delete(kubeletSocket);
  },

  /** Waits until every plugin has an open list stream. */
  watched: async (crowd: Crowd): Promise<void> => {
    await eventually('every plugin has a list stream', () =>
      names(crowd).every((name) => (plugins.get(name)?.streams ?? 0) > 0),
    );
  },

  /** Asks for a page again and again, so long apart, until it is asked to stop. Read here, not where times are taken. */
  look: ({ url, everyMs }: { url: string; everyMs: number }): void => {
    const over = new AbortController();
    looks.push(over);
    const ask = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const answer = await fetch(url, { headers: { 'accept-encoding': 'gzip' }, signal: over.signal });
        await answer.arrayBuffer();
        await pause(everyMs);
      }
    };
    ask().catch((failure: unknown) => {
      if (!over.signal.aborted) throw failure;
    });
  },

  /** Asks for no page any more. */
  lookAway: (): void => {
    for (const over of looks.splice(0)) over.abort();
  },

  /** From now on each plugin serves on a new socket and registers again whenever kubelet.sock appears. */
  restartWithKubeletSocket: ({ kubeletSocket, crowd }: { kubeletSocket: string; crowd: Crowd }): void => {
    const restart = async (name: string): Promise<void> => {
      await plugins.get(name)?.stop();
      const plugin = await serve(crowd.dir, name);
      // The event is the removal of kubelet.sock, too: then it is not there yet.
      await eventually('registered again', () => plugin.register(kubeletSocket).then(() => true));
    };
    let last = 0;
    watches.push(
      watch(crowd.dir, (event, file) => {
        // Removed and created within a moment: one event.
        if (event !== 'rename' || file !== path.basename(kubeletSocket) || now() - last < 100) return;
        last = now();
        for (const name of names(crowd)) {
          const done = restart(name).catch(() => undefined);
          restarting.add(done);
          void done.then(() => restarting.delete(done));
        }
      }),
    );
  },

  /** Waits until nobody is restarting itself. */
  restarted: async (): Promise<void> => {
    while (restarting.size > 0) await Promise.all(restarting);
  },

  /** A new kubelet.sock means nothing any more. */
  ignoreKubeletSocket: (): void => {
    for (const each of watches.splice(0)) each.close();
  },

  /**
   * One plugin after the other restarts and registers, `everyMs` apart, for `forMs`. None is counted out: each comes so
   * seldom that no limit of its own is met. Only the call is timed.
   */
  bystand: async ({ kubeletSocket, dir, everyMs, forMs }: Bystanding): Promise<Bystander> => {
    const client = clientOf(kubeletSocket);
    const each: number[] = [];
    let refused = 0;
    const until = now() + forMs;
    for (; now() < until; bystander = (bystander + 1) % BYSTANDERS) {
      const began = now();
      const name = `bystander-${String(bystander)}`;
      await plugins.get(name)?.stop();
      await serve(dir, name);
      const start = now();
      const { at, code } = await client.register(resourceOf(name), `${name}.sock`);
      each.push(at - start);
      if (code !== 0) refused += 1;
      await pause(Math.max(0, everyMs - (now() - began)));
    }
    return { each, refused };
  },

  /** Serves at the watcher door, all sockets in one go. @returns milliseconds from each appearance to its Notify */
  appear: async ({ dir, name, count }: Crowd): Promise<number[]> => {
    const appeared = new Map<string, number>();
    const notified: number[] = [];
    const started: FakePlugin[] = [];
    const begin = async (one: string): Promise<void> => {
      const plugin = new FakePlugin({
        socket: path.join(dir, `${one}.sock`),
        resource: resourceOf(one),
        door: 'watcher',
        hook: (method) => {
          if (method === 'NotifyRegistrationStatus') notified.push(now() - (appeared.get(one) ?? now()));
        },
      });
      started.push(plugin);
      const serving = plugin.serve();
      appeared.set(one, now());
      await serving;
      plugins.set(one, plugin);
    };
    await Promise.all(names({ dir, name, count }).map(begin));
    await eventually('everybody was told', () => notified.length >= count, { withinMs: TOLD_WITHIN });
    if (started.some((plugin) => plugin.notified.some((error) => error !== '')))
      throw new Error('somebody was refused');
    return notified;
  },
};

/** The calls to a crowd. */
export type CrowdCalls = typeof crowdCalls;

/** Starts a crowd. */
export function startCrowd(): Worker<CrowdCalls> {
  return new Worker<CrowdCalls>(fileURLToPath(import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) offer(crowdCalls);
