// Cuts the texts of others in an event. Both keepers of events do so: the journal, for everything behind it, and the count of
// plugins that are refused again and again.
import { cutWritten } from '../kernel/written.js';
import type { EventDraft } from '../model/event.js';

/** Bytes of a name or path, and of a message, as they are written. */
const MAX_TEXT = 256;
const MAX_MESSAGE = 1024;

/** The draft with no text in it that takes more than its share of a line. Facts are the broker's own. */
export function cutDraft(draft: EventDraft): EventDraft {
  const { socket } = draft;
  const cut = {
    ...(socket === undefined ? {} : { socket: cutWritten(socket, MAX_TEXT) }),
    message: cutWritten(draft.message, MAX_MESSAGE),
  };
  if (draft.plugin === undefined) return { ...draft, ...cut };
  return { ...draft, ...cut, plugin: cutWritten(draft.plugin, MAX_TEXT) };
}
