import type { TransportFault } from '../../../src/model/failed-call.js';
import type { OpenCsiNodeClient, NodeGetInfoResult } from '../../../src/csi/csi-node-client.js';
import type { ApplyOutcome, NodeFactsTarget } from '../../../src/csi/node-facts-target.js';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { sleep, type Clock } from '../../../src/kernel/clock.js';
import type { Enrolment, InstanceHandle, InstanceReport, PinnedSocket } from '../../../src/model/plugin.js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import type { ServiceListener } from '../../../src/model/service-listener.js';
import type { PluginPolicy } from '../../../src/model/settings.js';

/** A target that holds what is public in a map, and fails as told. */
export class FakeTarget implements NodeFactsTarget {
  readonly published = new Map<string, NodeInfo>();
  /** Outcomes to give before it works again, oldest first. */
  readonly failures: ApplyOutcome[] = [];
  /** Drivers to leave out, with the reason. */
  readonly conflicts = new Map<string, string>();
  /** Set while something is left that nobody waits for. */
  againAfterMs: number | undefined;
  rounds = 0;
  /** The drivers that the last round was to publish, in its order. */
  wanted: readonly string[] = [];
  /** The drivers that each round was told to take back. */
  readonly takenBack: (readonly string[])[] = [];
  /** Set to hold a round until it resolves. */
  gate: Promise<void> | undefined;

  known(): Promise<readonly string[] | undefined> {
    return Promise.resolve([...this.published.keys()]);
  }

  async apply(wanted: ReadonlyMap<string, NodeInfo>, unwanted: ReadonlySet<string>): Promise<ApplyOutcome> {
    this.rounds += 1;
    this.wanted = [...wanted.keys()];
    this.takenBack.push([...unwanted]);
    await this.gate;
    const failure = this.failures.shift();
    if (failure !== undefined) return failure;
    for (const driver of unwanted) this.published.delete(driver);
    for (const [driver, info] of wanted) if (!this.conflicts.has(driver)) this.published.set(driver, info);
    const { againAfterMs } = this;
    return { ok: true, conflicts: new Map(this.conflicts), ...(againAfterMs === undefined ? {} : { againAfterMs }) };
  }
}

/** A driver that answers what it is told to, after `delayMs`. */
export class FakeDriver {
  listener: ServiceListener | undefined;
  calls = 0;
  open = 0;
  /** Paths by which its endpoint was to be found from then on. */
  readonly renamedTo: string[] = [];
  delayMs = 0;
  /** Results to give before `result`, oldest first. */
  readonly results: NodeGetInfoResult[] = [];
  result: NodeGetInfoResult = answers('node-1');
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly client: OpenCsiNodeClient = (_endpoint, listener) => {
    this.listener = listener;
    this.open += 1;
    let isOpen = true;
    return {
      nodeGetInfo: async (limitMs) => {
        this.calls += 1;
        const { delayMs } = this;
        if (delayMs > 0) await sleep(this.#clock, Math.min(delayMs, limitMs));
        if (delayMs > limitMs) return failsWith(GRPC_STATUS.DEADLINE_EXCEEDED, 'deadline exceeded', 'no-answer');
        const result = this.results.shift() ?? this.result;
        if (result.ok && isOpen) listener.up();
        return result;
      },
      renamed: (path) => void this.renamedTo.push(path),
      close: () => {
        if (isOpen) this.open -= 1;
        isOpen = false;
      },
    };
  };
}

export function answers(
  nodeId: string,
  segments: readonly (readonly [string, string])[] = [],
  limit = 0n,
): NodeGetInfoResult {
  return { ok: true, answer: { nodeId, maxVolumesPerNode: limit, segments: new Map(segments) } };
}

export function failsWith(status: number, details: string, fault?: TransportFault): NodeGetInfoResult {
  return { ok: false, status, details, ...(fault === undefined ? {} : { fault }) };
}

/** An instance handle that writes down what it is told. */
export class FakeHandle implements InstanceHandle {
  readonly reports: InstanceReport[] = [];
  served = 0;
  readonly id: string;

  constructor(id: string) {
    this.id = id;
  }

  report(report: InstanceReport): void {
    this.reports.push(report);
  }

  serving(): void {
    this.served += 1;
  }

  /** `state reason` of each report. */
  get story(): string[] {
    return this.reports.map(({ state, reason }) => `${state} ${reason}`);
  }
}

export function pin(path: string): PinnedSocket {
  return {
    path,
    incarnation: { dev: '1', ino: '2', birthNs: '3' },
    uid: 0,
    dialPath: path,
    release: () => undefined,
    retain: () => pin(path),
  };
}

/** A registration as admission hands it to a handler. */
export function enrolment(type: string, name: string, versions: readonly string[]): Enrolment {
  const socket = pin(`/registry/${name}-reg.sock`);
  const endpoint = pin(`/plugins/${name}/csi.sock`);
  return {
    door: 'watcher',
    pulled: false,
    resumed: false,
    type,
    name,
    versions,
    socket,
    endpoint,
    endpointAsSent: endpoint.path,
    caller: undefined,
    listener: undefined,
    policy: {} as PluginPolicy,
  };
}
