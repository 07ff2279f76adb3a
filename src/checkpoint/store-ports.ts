// The needs of the store.
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Metrics } from '../kernel/metrics.js';
import type { Random } from '../kernel/random.js';
import type { EventSink } from '../model/event.js';
import type { CheckpointSettings } from '../model/settings.js';
import type { CheckpointView } from '../model/views.js';
import type { NewestLists } from './device-lists.js';
import type { CheckpointDocument } from './document.js';
import type { DocumentFile, ListFiles } from './ports.js';

/** The ports of the store. */
export interface StorePorts {
  readonly file: DocumentFile<CheckpointDocument>;
  readonly lists: ListFiles;
  /** The state directory, where sentences name it. */
  readonly folder: string;
  /** Device lists in memory, for files that somebody removes while we run. */
  readonly inventory: NewestLists;
  readonly settings: CheckpointSettings;
  /** The milliseconds that a step may take, which has this limit of its own: StartBudget.leftMs (kernel/start-budget). */
  readonly leftMs: (atMost: number) => number;
  readonly bootId: string;
  /** Has the highest event number given out so far: Journal (journal/journal). */
  readonly journal: { readonly seq: number };
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventSink;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Called after each change of state: `StoreState.is` (checkpoint/store-state). */
  readonly onStateChange: (view: CheckpointView) => void;
}
