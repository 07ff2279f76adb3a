// The needs of the store.
import type { Surroundings } from '../kernel/surroundings.js';
import type { EventSink } from '../model/event.js';
import type { CheckpointSettings } from '../model/settings.js';
import type { CheckpointView } from '../model/views.js';
import type { NewestLists } from './device-lists.js';
import type { CheckpointDocument } from './document.js';
import type { DocumentFile, ListFiles } from './ports.js';

/** The ports of the store. */
export interface StorePorts extends Surroundings {
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
  readonly events: EventSink;
  /** Called after each change of state: `StoreState.is` (checkpoint/store-state). */
  readonly onStateChange: (view: CheckpointView, listsProblem: string | undefined) => void;
}
