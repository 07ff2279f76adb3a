// The API for authors of device plugins (docs/library.md).

/** A device as the kubelet's device plugin API has it. */
export interface Device {
  readonly id: string;
  /** `Healthy` unless said. Only `Healthy` is healthy. */
  readonly health?: Health;
  readonly numaNodes?: readonly number[];
}

/** Health of a device. */
export type Health = 'Healthy' | 'Unhealthy' | (string & {});

/** The request of a call, one entry a container. */
export interface AllocateRequest {
  readonly containers: readonly { readonly deviceIds: readonly string[] }[];
}

/** The answer to AllocateRequest: as many entries, in the same order. */
export interface Allocation {
  readonly containers: readonly ContainerAllocation[];
}

/** The environment, mounts and devices that a container needs to use its devices. */
export interface ContainerAllocation {
  readonly envs?: Readonly<Record<string, string>>;
  readonly mounts?: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly devices?: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions?: 'r' | 'rw' | 'rwm';
  }[];
  readonly annotations?: Readonly<Record<string, string>>;
  readonly cdiDevices?: readonly string[];
}

/**
 * Asks which devices would be best for one container. Apart from the broker's own type of this request (model/device-use),
 * because the library promises it.
 */
export interface PreferredRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

/** Around a call. */
export interface CallContext {
  /** Aborts when the caller has gone or the plugin stops. */
  readonly signal: AbortSignal;
  readonly resource: string;
}

/** An event of a plugin. Unknown kinds may come with later versions. */
export type DevicePluginEvent =
  | { readonly kind: 'registered'; readonly ms: number }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string; readonly retryInMs: number }
  | { readonly kind: 'registry-event'; readonly what: 'kubelet-sock' | 'socket-gone' | 'notify-false' }
  /** How many lists are read now. */
  | { readonly kind: 'stream'; readonly open: number }
  | { readonly kind: 'list'; readonly devices: number; readonly healthy: number }
  /**
   * A socket cannot be made (told once until the reason changes or it was made), or a callback threw: the plugin goes on. Or a
   * plugin that served was ended by this error: its state is `stopped` then.
   */
  | { readonly kind: 'error'; readonly error: Error };

/** A device plugin. */
export interface DevicePluginOptions {
  /** `vendor.example/thing`. */
  readonly resource: string;
  /**
   * The devices, or where lists of them come from: each list replaces the one before, the end of them is a goodbye. When
   * they fail, which is an event `error`, all devices are unhealthy from then on.
   */
  readonly devices: readonly Device[] | ((signal: AbortSignal) => AsyncIterable<readonly Device[]>);
  /** Answers Allocate; ids that are in no list were refused before. Without it devices need nothing to be used. */
  readonly allocate?: (request: AllocateRequest, call: CallContext) => Allocation | Promise<Allocation>;
  /** Answers GetPreferredAllocation for each container. */
  readonly preferred?: (request: PreferredRequest, call: CallContext) => readonly string[] | Promise<readonly string[]>;
  /** Is called before each container starts. */
  readonly preStart?: (deviceIds: readonly string[], call: CallContext) => void | Promise<void>;
  /** Where the kubelet or the broker is: /var/lib/kubelet/device-plugins; for the watcher /var/lib/kubelet/plugins_registry. */
  readonly directory?: string;
  /** File name of the socket. By default made from the resource and from chance, so that two versions can overlap. */
  readonly socketName?: string;
  /** `register` calls Register (the default); `watcher` waits in the watched directory until it is asked. */
  readonly door?: 'register' | 'watcher';
  /** Bounds of the pause between tries that failed, full jitter: 250 … 30,000 ms. A longer RetryInfo goes before it, up to ten minutes. */
  readonly retry?: { readonly firstMs?: number; readonly maxMs?: number };
  /** Least time between two lists, 100 ms: of those that come faster the newest counts. */
  readonly minIntervalMs?: number;
  /** Stops it. */
  readonly signal?: AbortSignal;
  /** Is called with each event. An exception of it is lost. */
  readonly on?: (event: DevicePluginEvent) => void;
}

/** A device plugin that serves. */
export interface DevicePluginServer extends AsyncDisposable {
  readonly resource: string;
  /** Path of its socket; another one when it had to be made anew. */
  readonly socket: string;
  readonly devices: readonly Device[];
  readonly state: 'serving' | 'registered' | 'refused' | 'stopped';
  /** Resolves when it is registered for the first time; rejects when it stops before. */
  readonly registered: Promise<void>;
  /** Replaces all devices. @throws TypeError for a list that no kubelet takes */
  setDevices(devices: readonly Device[]): void;
  /** Changes the health of one device. @throws RangeError when there is none of this id */
  setHealth(id: string, health: Health): void;
  /** Says goodbye: an empty list, the streams end, the socket goes if it is still ours. Idempotent. */
  stop(): Promise<void>;
}
