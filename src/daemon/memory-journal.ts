// Events in memory alone.
import type { EventQuery } from '../admin/admin-port.js';
import type { Clock } from '../kernel/clock.js';
import type { BrokerEvent, EventDraft } from '../model/event.js';
import type { JournalPort } from './daemon.js';

export function memoryJournal(clock: Clock): JournalPort {
  const events: BrokerEvent[] = [];
  const followers = new Set<(event: BrokerEvent) => void>();
  let seq = 0;
  return {
    get seq() {
      return seq;
    },
    record: (draft: EventDraft) => {
      seq += 1;
      const event = { time: new Date(clock.wall()).toISOString(), seq, reason: '', plugin: '', socket: '', ...draft };
      events.push(event);
      if (events.length > 2000) events.shift();
      for (const follower of followers) follower(event);
    },
    async *follow(query: EventQuery, signal: AbortSignal) {
      const queue: BrokerEvent[] = events.filter((event) => event.seq >= query.since);
      let wake = (): void => undefined;
      const follower = (event: BrokerEvent): void => {
        queue.push(event);
        wake();
      };
      followers.add(follower);
      signal.addEventListener('abort', () => wake(), { once: true });
      try {
        for (;;) {
          for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event;
          if (!query.follow || signal.aborted) return;
          await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        followers.delete(follower);
      }
    },
  };
}
