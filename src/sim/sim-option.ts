// Options of simulated plugins, as data: the command line is made from them, and tests take their defaults.
import { LONGEST_ALARM_MS } from '../kernel/clock.js';
import { durationMs } from '../kernel/duration.js';

/** One option. */
export interface SimOption<Key extends string = string> {
  /** Under which name the value is found: the flag's name in camel case. */
  readonly key: Key;
  /** As commander takes it: `--devices <count>`; without an argument it is a switch. */
  readonly flags: string;
  readonly help: string;
  readonly default?: unknown;
  readonly choices?: readonly string[];
  /**
   * Makes the value from its text and, for options that may be repeated, from the value so far. Throws an Error with a sentence.
   */
  readonly parse?: (text: string, before: unknown) => unknown;
}

/** An option with a value. @param argument stands for the value in help; the flag is made from the key */
export function option<Key extends string>(
  key: Key,
  argument: string,
  help: string,
  more: Pick<SimOption, 'default' | 'choices' | 'parse'> = {},
): SimOption<Key> {
  return { key, flags: `${flagOf(key)} <${argument}>`, help, ...more };
}

/** A switch. */
export function flag<Key extends string>(key: Key, help: string): SimOption<Key> {
  return { key, flags: flagOf(key), help, default: false };
}

/** An option that is a whole number from 0. */
export function amount<Key extends string>(key: Key, help: string, standard?: number): SimOption<Key> {
  return option(key, 'count', help, { parse: count, default: standard });
}

/** An option that is a duration. @param standard milliseconds */
export function time<Key extends string>(key: Key, help: string, standard?: number): SimOption<Key> {
  return option(key, 'duration', help, { parse: duration, default: standard });
}

function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A duration such as 250ms, 2s or 5m, in milliseconds. */
export function duration(text: string): number {
  const ms = durationMs(text);
  if (ms === undefined) throw new Error(`${text} is no duration: write it as 250ms, 2s or 5m`);
  if (ms > LONGEST_ALARM_MS) throw new Error(`${text} is longer than a timer can hold: write at most 596h`);
  return ms;
}

/** A whole number from 0. */
export function count(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${text} is no whole number`);
  return Number(text);
}

/** Several words of a fixed set, separated by commas. */
export function wordsOf<Word extends string>(known: readonly Word[]): (text: string) => Word[] {
  return (text) =>
    text.split(',').map((word) => {
      const found = known.find((name) => name === word);
      if (found === undefined) throw new Error(`${word} is none of ${known.join(', ')}`);
      return found;
    });
}

/** The values that hold when nothing is said. */
export function defaultsOf(options: readonly SimOption[]): Record<string, unknown> {
  return Object.fromEntries(
    options.filter((option) => option.default !== undefined).map((option) => [option.key, option.default]),
  );
}
