// A checkpoint file as `checkpoint show|verify` tells of it; with `-o json` as it stands (docs/specification.md#commands).

/** Where the last list of a plugin is, and whether it can be read. */
export type ListCondition = 'none' | 'inline' | 'file' | 'missing' | 'damaged' | 'unchecked';

/** One plugin of an inspected checkpoint. */
export interface InspectedPlugin {
  readonly type: string;
  readonly name: string;
  readonly primary: boolean;
  readonly door: string;
  readonly endpoint: string;
  readonly socket: string;
  readonly uid: number;
  readonly version: string;
  readonly firstRegisteredAt: string;
  readonly lastRegisteredAt: string;
  readonly registrations: number;
  /** False: only a hint, its plugin is not known to have been alive in the boot in which the file was written. */
  readonly confirmed: boolean;
  /** Devices of the last list; -1 where none is known. */
  readonly devices: number;
  readonly list: ListCondition;
}

/** The findings about one file. */
export interface CheckpointInspection {
  readonly file: string;
  readonly bytes: number;
  /** `damaged`: not to be relied on; the legible parts are in the other members all the same. */
  readonly condition: 'whole' | 'newer-format' | 'damaged' | 'missing';
  /** 0 where it is unknown. */
  readonly format: number;
  readonly generation: number;
  readonly bootId: string;
  readonly writtenAt: string;
  readonly eventSeq: number;
  readonly plugins: readonly InspectedPlugin[];
  readonly tombstones: number;
  readonly limits: number;
  /** Those that are known, each once. */
  readonly csiDrivers: readonly string[];
  /** The state of the ledger: ok, stale or unknown; empty where it cannot be read. */
  readonly ledger: string;
  readonly leases: number;
  /** Why `verify` fails, one sentence each; empty when everything is in order. */
  readonly problems: readonly string[];
  /** Further facts for the reader. */
  readonly notes: readonly string[];
}

/** Reads a checkpoint file. Rejects when it is there and cannot be read. */
export type CheckpointReader = (file: string) => Promise<CheckpointInspection>;
