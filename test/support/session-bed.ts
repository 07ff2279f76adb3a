// The handler of device plugins with a fake plugin at the other end of every port.
import { seededRandom } from './seeded-random.js';
import { DEVICE_PLUGIN } from '../../src/model/ids.js';
import type { Enrolment, InstanceReport } from '../../src/model/plugin.js';
import type { LivenessSettings, ReattachPolicy, Settings } from '../../src/model/settings.js';
import { ListAndWatchResponse } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { DevicePluginHandler } from '../../src/session/device-plugin-handler.js';
import type { ListVerdict } from '../../src/model/device-list.js';
import { FakeClock } from './fake-clock.js';
import { FakeDialler, PacedBy, type FakeConnection, type FakeStream } from './fake-connection.js';
import { FakeSockets } from './fake-sockets.js';
import { loadDefaults } from './test-settings.js';

/** The instance that beds register. */
export const ID = 'DevicePlugin/example.com/x@1';

/** A list of so many healthy devices, as bytes. */
export function list(devices: number): Buffer {
  return ListAndWatchResponse.encode({
    devices: Array.from({ length: devices }, (_, at) => ({ id: `d${String(at)}`, health: 'Healthy' })),
  });
}

/** The registration of a bed. */
export interface BedOptions {
  readonly reattach?: ReattachPolicy;
  readonly resumed?: boolean;
  readonly movable?: boolean;
  readonly pacer?: ConstructorParameters<typeof PacedBy>[0];
}

/** One handler, one instance. */
export class SessionBed {
  readonly clock = new FakeClock();
  readonly dialler = new FakeDialler();
  readonly reports: InstanceReport[] = [];
  readonly offers: Buffer[] = [];
  readonly counted = new Map<string, number>();
  /** The settings that a test reloads. */
  readonly live: { readonly settings: Settings; liveness: LivenessSettings };
  readonly handler: DevicePluginHandler;
  readonly pacer: PacedBy;
  served = 0;
  moves = 0;
  /** The verdict on lists; undefined: applied. */
  verdict: ListVerdict | undefined;
  knownDevices: number | undefined;
  readonly #enrolment: Enrolment;

  constructor({ reattach = 'stream', resumed = false, movable = true, pacer }: BedOptions = {}) {
    const { settings, policyFor } = loadDefaults('/r');
    this.live = { settings, liveness: settings.liveness };
    const sockets = new FakeSockets();
    sockets.put('/r/device-plugins/x.sock');
    const pin = sockets.open('/r/device-plugins/x.sock');
    if (pin === undefined) throw new Error('there is no socket');
    this.pacer = new PacedBy(pacer);
    this.#enrolment = {
      door: 'register',
      pulled: false,
      resumed,
      type: DEVICE_PLUGIN,
      name: 'example.com/x',
      versions: ['v1beta1'],
      socket: pin,
      endpoint: pin,
      endpointAsSent: 'x.sock',
      caller: undefined,
      listener: undefined,
      policy: { ...policyFor(DEVICE_PLUGIN, 'example.com/x', ''), reattach },
    };
    this.handler = new DevicePluginHandler({
      dialler: this.dialler,
      lists: {
        offer: (_id, _resource, raw) => {
          this.offers.push(raw);
          const { devices } = ListAndWatchResponse.decode(raw);
          return Promise.resolve(this.verdict ?? { kind: 'applied', devices: devices.length });
        },
        known: () => this.knownDevices,
      },
      remover: {
        remove: () => {
          if (!movable) return 'no second name can be made for it';
          this.moves += 1;
          return undefined;
        },
      },
      endpoints: { forAsking: () => undefined },
      clock: this.clock,
      random: seededRandom(1),
      nextTurn: () => Promise.resolve(),
      pacing: { openPacer: () => this.pacer },
      live: this.live,
      recorder: { counted: (_id, what, by) => void this.counted.set(what, (this.counted.get(what) ?? 0) + by) },
    });
  }

  /** A bed whose plugin registered and is watched. */
  static async registered(options: BedOptions = {}): Promise<SessionBed> {
    const bed = new SessionBed(options);
    await bed.register();
    await bed.clock.settle();
    return bed;
  }

  register(signal: AbortSignal = new AbortController().signal): Promise<unknown> {
    const handle = {
      id: ID,
      report: (report: InstanceReport): void => void this.reports.push(report),
      serving: (): void => void (this.served += 1),
    };
    return this.handler.register(this.#enrolment, handle, signal);
  }

  get connection(): FakeConnection {
    return this.dialler.last;
  }

  /** The list stream that was opened last. */
  get stream(): FakeStream {
    const stream = this.connection.streams.at(-1);
    if (stream === undefined) throw new Error('no stream was opened');
    return stream;
  }

  /** state and reason that were reported last. */
  reported(): string {
    const last = this.reports.at(-1);
    return last === undefined ? '' : `${last.state} ${last.reason}`;
  }
}
