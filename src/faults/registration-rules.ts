// Refusals and delays that a program orders for the plugins it tests, each until it is lifted or used up.
import type { FloodSubject, FloodVerdict } from '../model/flood.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { RegistrationRule } from '../model/fault-port.js';

interface Standing extends RegistrationRule {
  left: number;
  until?: number;
}

/** The rules in force, in the order in which they were ordered: the first that meets a registration holds. */
export class RegistrationRules {
  readonly #clock: Clock;
  readonly #rules = new Map<number, Standing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** One rule more. */
  add(rule: RegistrationRule): void {
    this.#rules.set(rule.id, { ...rule, left: rule.times });
  }

  /** One rule less; unknown numbers are those of rules that are used up. */
  lift(id: number): void {
    this.#rules.delete(id);
  }

  /** No rules. */
  clear(): void {
    this.#rules.clear();
  }

  /** The verdict of the first rule that matches a registration; undefined where none does. */
  verdictFor({ name }: FloodSubject): FloodVerdict | undefined {
    const now = this.#clock.mono();
    for (const rule of this.#rules.values()) {
      if (rule.plugin !== '' && rule.plugin !== name) continue;
      rule.until ??= now + rule.forMs;
      if (now >= rule.until || rule.left === 0) {
        this.#rules.delete(rule.id);
        continue;
      }
      rule.left -= 1;
      return rule.holdMs > 0 ? held(this.#clock, rule.holdMs) : refuse(rule, name);
    }
    return undefined;
  }
}

/** Lets a registration pass after so many milliseconds. */
export function held(clock: Clock, delayMs: number): FloodVerdict {
  const wait = async (signal: AbortSignal): Promise<FloodVerdict> => {
    await sleep(clock, delayMs, signal);
    return { kind: 'pass' };
  };
  return { kind: 'delay', delayMs, wait };
}

function refuse({ reason, retryAfterMs }: RegistrationRule, name: string): FloodVerdict {
  const again = retryAfterMs === undefined ? {} : { retryAfterMs };
  return {
    kind: 'refuse',
    refusal: { code: reason, message: `${name}: refused by the program that tests it`, ...again },
  };
}
