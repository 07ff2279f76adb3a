// What others spell in an event is cut by whoever keeps it: the journal where events come in, for all that is behind it, and the
// count of those that are refused again and again.
import { cutWritten } from '../kernel/written.js';
import type { EventDraft } from '../model/event.js';

/** Bytes as they are written. */
const MAX_TEXT = 256;
const MAX_MESSAGE = 1024;

/** The draft with no text in it that takes more than its share of a line. Facts are the broker's own. */
export function cutDraft(draft: EventDraft): EventDraft {
  const { plugin, socket } = draft;
  return {
    ...draft,
    ...(plugin === undefined ? {} : { plugin: cutWritten(plugin, MAX_TEXT) }),
    ...(socket === undefined ? {} : { socket: cutWritten(socket, MAX_TEXT) }),
    message: cutWritten(draft.message, MAX_MESSAGE),
  };
}
