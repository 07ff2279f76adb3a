// Checkpoints as the command line shows them. The stage that reads them is passed in by the entry.

/** One plugin of a checkpoint file. */
export interface CheckpointPlugin {
  readonly type: string;
  readonly name: string;
  readonly primary: boolean;
  readonly socket: string;
  readonly lastRegisteredAt: string;
  readonly registrations: number;
  /** False: only a hint, its plugin was not seen in the boot in which the file was written. */
  readonly confirmed: boolean;
  /** -1 where no list is known. */
  readonly devices: number;
  readonly list: string;
}

/** The contents of a checkpoint file; printed whole with -o json. */
export interface CheckpointContents {
  readonly file: string;
  readonly bytes: number;
  readonly condition: string;
  readonly format: number;
  readonly generation: number;
  readonly writtenAt: string;
  readonly bootId: string;
  readonly plugins: readonly CheckpointPlugin[];
  readonly tombstones: number;
  readonly limits: number;
  readonly csiDrivers: readonly string[];
  /** The state of the ledger: ok, stale or unknown; empty where it cannot be read. */
  readonly ledger: string;
  readonly leases: number;
  /** The problems, one sentence each; empty when there are none. */
  readonly problems: readonly string[];
  /** Further facts for the reader. */
  readonly notes: readonly string[];
}

/** Reads a checkpoint file. Rejects when it is there and cannot be read. */
export type CheckpointReader = (file: string) => Promise<CheckpointContents>;
