// A start's findings about the files on the disk, in sentences. Pure.
import { counted } from '../kernel/counted.js';
import type { Found } from './ports.js';

/** The state after a start, and how it is told. */
export interface Findings {
  readonly start: 'ok' | 'recovered' | 'empty' | 'newer-format';
  /** For status; empty when there is nothing to say. */
  readonly reason: string;
  readonly level: 'info' | 'warn' | 'error';
  /** For log and events. */
  readonly message: string;
}

/**
 * Whether leases of this boot may have been on a file that cannot be used. It is said on the disk before anything else is
 * written there: a later start would find a whole checkpoint without them.
 */
export function mayHaveLostLeases({ source, lostBoots }: Found, bootId: string): boolean {
  return source === 'none' && lostBoots.some((lost) => lost === undefined || lost === bootId);
}

/**
 * @param generation the generation that was taken, where there is one
 * @param plugins how many plugins it holds
 */
export function judge(found: Found, generation: number, plugins: number): Findings {
  const problems = found.problems.join('; ');
  switch (found.source) {
    case 'current': {
      const message = `generation ${generation} of the checkpoint was read, with ${counted(plugins, 'plugin')}`;
      return { start: 'ok', reason: '', level: 'info', message };
    }
    case 'previous': {
      const reason = `${problems}; generation ${generation} is used instead, and ${counted(plugins, 'plugin')} of it will count again after an answer`;
      return { start: 'recovered', reason, level: 'error', message: reason };
    }
    case 'newer': {
      const reason = `${problems}; it is left alone and the broker serves from memory: run the version that wrote it, or move the file away`;
      return { start: 'newer-format', reason, level: 'error', message: reason };
    }
    case 'none': {
      const first = 'there is no checkpoint yet: this is a first start';
      if (problems === '') return { start: 'empty', reason: '', level: 'info', message: first };
      const reason = `${problems}; no generation is left, so plugins are known only once they register again`;
      return { start: 'empty', reason, level: 'error', message: reason };
    }
  }
}
