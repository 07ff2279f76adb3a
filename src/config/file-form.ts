// The configuration as it is written in the file, with every default filled in. Derived from the settings, so that the
// two cannot drift apart: `intervalMs: number` is written `interval: 2s`, `headerBytes: number` is written `16KiB`.
import type { FrontSettings } from '../model/front.js';
import type {
  AdmissionSettings,
  AllocatorSettings,
  BucketSettings,
  CheckpointSettings,
  ConnectionLimit,
  Consumer,
  CsiSettings,
  DiscoverySettings,
  DuplicatePolicy,
  FloodPolicy,
  GuardSettings,
  LivenessSettings,
  LogSettings,
  Paths,
  PenaltySettings,
  ReattachPolicy,
  RegisterLimit,
  RestartSettings,
  Settings,
  Timeouts,
} from '../model/settings.js';

/** `250ms`, `2s`, `5m` or `1h`. */
export type Duration = string;
/** Bytes, or `64KiB`, `16MiB`, `1GiB`. */
export type Size = number | string;

/** How a section of the settings is written: durations lose the `Ms` of their name, byte counts become sizes. */
export type Written<T> = T extends readonly unknown[] | string | number | boolean | undefined
  ? T
  : {
      readonly [K in keyof T as K extends `${infer Base}Ms` ? Base : K]: K extends `${string}Ms`
        ? Duration
        : K extends `${string}Bytes${string}`
          ? Size
          : Written<T[K]>;
    };

/** The sections that have the shape of the settings. */
export interface PlainSections {
  readonly guard: Written<GuardSettings>;
  readonly discovery: Written<DiscoverySettings>;
  readonly timeouts: Written<Timeouts>;
  readonly liveness: Written<LivenessSettings>;
  readonly restart: Written<RestartSettings>;
  readonly checkpoint: Written<CheckpointSettings>;
  readonly grace: Written<Settings['grace']>;
}

/** The penalty: its figures, or none at all. */
export type PenaltyForm = Written<PenaltySettings> | 'off';

/** The part of the flood policy that a rule can change. */
export type PluginFloodForm = Written<Omit<FloodPolicy, 'penalty'>> & { readonly penalty: PenaltyForm };

/** Everything below the key `flood`. */
export interface FloodForm extends PluginFloodForm {
  readonly connections: Written<ConnectionLimit>;
  readonly allocate: Written<BucketSettings>;
  readonly global: { readonly register: Written<RegisterLimit> };
  readonly maxBuckets: number;
}

type PartialSection<T> = { readonly [K in keyof T]?: PartialIn<T[K]> };
type PartialIn<V> = V extends object ? Partial<V> : V;

/** One rule: globs that select plugins, and their differences from the defaults. */
export interface RuleForm {
  /** Its name in limits, events and metrics. */
  readonly name?: string;
  readonly match: {
    readonly type?: string;
    readonly name?: string;
    readonly socket?: string;
  };
  readonly flood?: PartialSection<PluginFloodForm>;
  readonly duplicates?: DuplicatePolicy;
  readonly reattach?: ReattachPolicy;
  readonly grace?: Duration;
  readonly uids?: readonly number[];
  readonly allocate?: {
    readonly uids?: readonly number[];
    readonly max?: number;
    readonly consumer?: Consumer;
    readonly env?: Readonly<Record<string, 'ids'>>;
  };
}

/** Everything below the key `paths`: the root absolute or `auto`, the others absolute or below it. */
export type PathsForm = Written<Paths>;

/** The whole file. */
export interface ConfigForm extends PlainSections {
  readonly paths: PathsForm;
  /** The mode as an octal string; the group by name or number, or `inherit`. */
  readonly socket: { readonly mode: string; readonly group: string | number };
  readonly http: { readonly listen: string; readonly page: 'on' | 'off'; readonly allowedHosts: readonly string[] };
  readonly admission: Omit<Written<AdmissionSettings>, 'allowUids'> & { readonly allowUids: 'any' | readonly number[] };
  readonly flood: FloodForm;
  readonly rules: readonly RuleForm[];
  readonly shippedRules: 'on' | 'off';
  readonly allocator: Written<AllocatorSettings>;
  readonly cdi: { readonly dir: string; readonly kind: string };
  readonly podResources: { readonly enabled: boolean; readonly upstream: string };
  readonly front: Written<FrontSettings>;
  readonly csi: { readonly publish: CsiSettings['publish']; readonly nodeName: string; readonly kubeconfig: string };
  readonly log: LogSettings;
}
