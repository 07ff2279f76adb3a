// A process that misbehaves in one way at a time. It is nice: where cores are few, it takes the time that is left, so that
// its effect on them is the broker's work about it, and not the scheduler's choice between three processes.
import { createConnection } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ServerWritableStream } from '@grpc/grpc-js';
import {
  devicePluginService,
  ListAndWatchResponse,
} from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { RegisterClient } from './register-client.js';
import { now } from './rows.js';
import { offer, Worker } from './worker.js';

/** A list has this many devices, and then one more for each list, up to as many more. */
export const LIST_DEVICES = 10_000;
export const LIST_STEPS = 2_000;

/** Where the flood goes. */
export interface Target {
  readonly kubeletSocket: string;
  readonly dir: string;
}

/** The outcome of a flood of calls: how many, and how many were answered well. */
export interface Flooded {
  readonly calls: number;
  readonly good: number;
}

type Stream = ServerWritableStream<unknown, Buffer>;

const PLUGIN = 'flooder';
/** The name under which it registers, where it has not many. */
export const RESOURCE = `example.com/${PLUGIN}`;
/** Calls of one connection that floods with names, all at once; and so many connections at once. */
const NAMES_A_CONNECTION = 64;
const NAMING_CONNECTIONS = 64;
let server: PluginServer | undefined;
let isOn = false;
let sent = 0;
/** When each list had left, on the machine's clock; by its number. */
const leftAt: number[] = [];

/** Lists that differ only in length: cut out of one, so that making them costs the flooder nothing. */
function listsOfAnyLength(): (nth: number) => Buffer {
  const ends: number[] = [];
  const parts: Buffer[] = [];
  let length = 0;
  for (let nth = 0; nth < LIST_DEVICES + LIST_STEPS; nth++) {
    const part = ListAndWatchResponse.encode({
      devices: [{ id: `device-${String(nth).padStart(6, '0')}`, health: 'Healthy' }],
    });
    parts.push(part);
    length += part.length;
    ends.push(length);
  }
  const whole = Buffer.concat(parts);
  return (nth) => whole.subarray(0, ends[LIST_DEVICES - 1 + (nth % LIST_STEPS)]);
}

let counts = { calls: 0, good: 0 };

/** Runs calls one after the other in `lanes` lanes while the flood is on. */
async function inLanes(lanes: number, call: (nth: number) => Promise<boolean>): Promise<Flooded> {
  counts = { calls: 0, good: 0 };
  const lane = async (): Promise<void> => {
    while (isOn) {
      counts.calls += 1;
      if (await call(counts.calls)) counts.good += 1;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return counts;
}

let running: Promise<Flooded> | undefined;

async function servePlugin(dir: string, watch: (stream: Stream) => void): Promise<void> {
  await server?.close();
  server = await PluginServer.listen(path.join(dir, `${PLUGIN}.sock`), (grpc) =>
    grpc.addService(
      {
        ...devicePluginService,
        ListAndWatch: { ...devicePluginService.ListAndWatch, responseSerialize: (bytes: Buffer) => bytes },
      },
      {
        GetDevicePluginOptions: (_: unknown, done: (failure: null, answer: object) => void) => done(null, {}),
        ListAndWatch: watch,
        GetPreferredAllocation: () => undefined,
        Allocate: () => undefined,
        PreStartContainer: () => undefined,
      },
    ),
  );
}

const oneDevice = (stream: Stream): void =>
  void stream.write(ListAndWatchResponse.encode({ devices: [{ id: 'a', health: 'Healthy' }] }));

const floods = {
  /** Registers, and sends a new list of 10,000 devices as soon as fewer than `queue` wait to leave. */
  lists: async ({ target, queue }: { target: Target; queue: number }): Promise<void> => {
    const list = listsOfAnyLength();
    isOn = true;
    sent = 0;
    leftAt.length = 0;
    await servePlugin(target.dir, (stream) => {
      let inFlight = 0;
      stream.on('error', () => undefined);
      const pump = (): void => {
        while (isOn && inFlight < queue && !stream.cancelled) {
          const nth = sent++;
          inFlight += 1;
          stream.write(list(nth), () => {
            leftAt[nth] = now();
            inFlight -= 1;
            setImmediate(pump);
          });
        }
      };
      pump();
    });
    const client = new RegisterClient(target.kubeletSocket);
    const { code } = await client.register(RESOURCE, `${PLUGIN}.sock`);
    client.close();
    if (code !== 0) throw new Error(`the flooder was refused with status ${String(code)}`);
  },

  /** Calls Register for one plugin without a pause, eight calls at a time over one connection. */
  registers: async ({ kubeletSocket, dir }: Target): Promise<void> => {
    isOn = true;
    await servePlugin(dir, oneDevice);
    const client = new RegisterClient(kubeletSocket);
    running = inLanes(8, async () => (await client.register(RESOURCE, `${PLUGIN}.sock`)).code === 0);
    void running.finally(() => client.close());
  },

  /** Connects and hangs up without a pause. */
  connections: ({ kubeletSocket }: Target): void => {
    isOn = true;
    running = inLanes(
      4,
      () =>
        new Promise((resolve) => {
          const socket = createConnection(kubeletSocket);
          socket.once('error', () => resolve(false));
          socket.once('connect', () => {
            socket.destroy();
            setImmediate(resolve, true);
          });
        }),
    );
  },

  /**
   * Calls Register under a new name each time, with a socket that is taken: many at once, and then on a new connection,
   * because a connection that was refused often is read only now and then.
   */
  names: async ({ kubeletSocket, dir }: Target): Promise<void> => {
    isOn = true;
    await servePlugin(dir, oneDevice);
    let named = 0;
    const register = async (client: RegisterClient): Promise<void> => {
      counts.calls += 1;
      named += 1;
      const { code } = await client.register(`example.com/name-${String(named)}`, `${PLUGIN}.sock`);
      if (code === 0) counts.good += 1;
    };
    counts = { calls: 0, good: 0 };
    const lane = async (): Promise<void> => {
      while (isOn) {
        const client = new RegisterClient(kubeletSocket);
        await Promise.all(Array.from({ length: NAMES_A_CONNECTION }, () => register(client)));
        client.close();
      }
    };
    running = Promise.all(Array.from({ length: NAMING_CONNECTIONS }, lane)).then(() => counts);
  },

  /** Calls so far. */
  calls: (): number => counts.calls,

  /** Uses up a core and touches nobody. */
  burn: (forMs: number): void => {
    const until = now() + forMs;
    const turn = (): void => {
      const pause = now() + 20;
      while (now() < pause);
      if (now() < until) setImmediate(turn);
    };
    setImmediate(turn);
  },

  /** Ends what runs. @returns what it came to */
  stop: async (): Promise<Flooded & { sent: number; leftAt: number[] }> => {
    isOn = false;
    const flooded = (await running) ?? { calls: sent, good: sent };
    running = undefined;
    return { ...flooded, sent, leftAt };
  },
};

/** The calls to a flooder. */
export type FlooderCalls = typeof floods;

/** Starts one. */
export function startFlooder(): Worker<FlooderCalls> {
  return new Worker<FlooderCalls>(fileURLToPath(import.meta.url));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  os.setPriority(os.constants.priority.PRIORITY_LOW);
  offer(floods);
}
