// The configuration as the command line needs it. The stage that reads it is passed in by the entry.
import type { PolicySource, Settings } from '../model/settings.js';

/** Every key of a configuration with its value, as it would be written in the file. */
export interface Written {
  readonly [section: string]: unknown;
  readonly rules: readonly { readonly match: object; readonly reattach?: string }[];
}

/** A configuration that can be used, or every problem of it as a line of its own. */
export type ReadConfig =
  | {
      readonly ok: true;
      readonly written: Written;
      /** How many settings outside of its rules are others than by default. */
      readonly changed: number;
      /** Settings that have no effect, or that take away something needed: a line of its own each. */
      readonly warnings: readonly string[];
      readonly settings: Settings;
      readonly policy: PolicySource;
      /** Rules of the file that a plugin of this type and name gets at some sockets alone. */
      readonly rulesBySocket: (type: string, name: string) => readonly string[];
    }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Reads a configuration.
 *
 * @param file undefined for the defaults
 * @param root a root directory that counts more than the file's
 */
export type ConfigReader = (file: string | undefined, root: string | undefined) => Promise<ReadConfig>;
