// The views of the status page and its API (docs/status-page.md#api): those of the commands, and the data of its pictures. Texts
// and numbers that do not apply are as in views.ts.
import type { LimitView, PluginView, ResourceView, StatusView } from './views.js';

/** One incarnation of a plugin. `key` names the row for as long as there is one. */
export interface PluginRow extends PluginView {
  readonly key: string;
  /** When it is given up, where it is held and a clock runs; empty otherwise. */
  readonly keptUntil: string;
}

/** One resource, without its devices. */
export interface ResourceRow extends Omit<ResourceView, 'devices'> {
  readonly key: string;
}

/** One bucket of the flood policy. */
export interface LimitRow extends LimitView {
  readonly key: string;
}

/** One lease: its kind of owner and never a name, a key or an environment. */
export interface LeaseRow {
  /** Its id. */
  readonly key: string;
  readonly state: string;
  readonly reason: string;
  /** `process`, `cgroup` or `key`: the binding of its life. */
  readonly owner: string;
  readonly devices: readonly { readonly resource: string; readonly count: number }[];
  readonly since: string;
  readonly expires: string;
}

/** Something that an operator should do, or should know. */
export interface Need {
  /** The same for as long as it is the same need. */
  readonly key: string;
  /** A word of a state, or `problem`. */
  readonly kind: string;
  /** Its subject: `type/name`, a path, or empty for the broker. */
  readonly subject: string;
  /** The problem. */
  readonly what: string;
  /** The remedy. */
  readonly remedy: string;
  /** The command to type; empty where nothing helps but waiting. */
  readonly command: string;
  /** When it ends by itself, RFC 3339; empty where it does not. */
  readonly until: string;
  /** So many more of the same kind and reason stand behind it. */
  readonly more: number;
}

/** From when on a plugin was in a state; until the next one. Epoch milliseconds. */
export type Span = readonly [from: number, state: string, reason: string];

/** A Register call that was told: when, and the code of its refusal or empty. */
export type Call = readonly [at: number, code: string];

/** The recent past of a plugin (`type/name`). */
export interface PluginHistory {
  readonly spans: readonly Span[];
  readonly calls: readonly Call[];
}

/** From when on a resource had so many devices, and so many that may be given out. Epoch milliseconds. */
export type CapacityStep = readonly [from: number, capacity: number, allocatable: number];

/** One start of the broker. Numbers are -1 where nobody told. */
export interface Start {
  readonly at: string;
  /** The end before it: `first`, `clean`, `killed` or `rebooted`. */
  readonly after: string;
  readonly restored: number;
  readonly confirmed: number;
  readonly settling: number;
  readonly total: number;
  /** Milliseconds until everything of the checkpoint was confirmed, or its time was over. */
  readonly ms: number;
}

/** The drawn past. */
export interface History {
  /** By `type/name`. */
  readonly spans: Readonly<Record<string, PluginHistory>>;
  /** By resource. */
  readonly capacity: Readonly<Record<string, readonly CapacityStep[]>>;
  /** Newest first. */
  readonly starts: readonly Start[];
}

/** Where the broker is, for operators that have to find it. */
export interface PagePlace {
  readonly host: string;
  readonly root: string;
  readonly state: string;
  /** broker.sock, where commands do not find it by themselves; empty otherwise. */
  readonly address: string;
  readonly devicePlugins: string;
  readonly registry: string;
  /** `http.listen` is no loopback address: every client that reaches it sees this page. */
  readonly isOpen: boolean;
}

/** The members that are not lists. */
export interface PageHead extends Omit<StatusView, 'plugins' | 'resources'> {
  readonly needs: readonly Need[];
}

/** Lists by their names; of a change only the rows that are new or not as they were. */
export interface PageRows {
  readonly plugins: readonly PluginRow[];
  readonly resources: readonly ResourceRow[];
  readonly limits: readonly LimitRow[];
  readonly leases: readonly LeaseRow[];
}

/** `GET api/v1/status`, and the first message of a stream. */
export interface PageSnapshot extends PageHead, PageRows {
  /** The number of the newest event in it. */
  readonly seq: number;
  /** The time of the broker, RFC 3339. */
  readonly now: string;
  readonly place: PagePlace;
  readonly history: History;
}

/** A change of a reader's picture: rows by their keys. */
export interface PageChange extends Partial<PageHead>, Partial<PageRows> {
  readonly seq: number;
  readonly now: string;
  /** Keys of rows that are no more, by list. */
  readonly removed?: Readonly<Partial<Record<keyof PageRows, readonly string[]>>>;
}

/** Devices of one resource, a part of them: those that cannot be given out first. */
export interface DevicePage {
  readonly name: string;
  readonly total: number;
  readonly from: number;
  readonly devices: readonly {
    readonly id: string;
    readonly health: string;
    readonly numaNodes: readonly number[];
    readonly lease: string;
  }[];
}
