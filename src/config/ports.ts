// The ports of the configuration.
import type { RootFacts } from '../model/root.js';
import type { ConfigForm } from './file-form.js';
import type { ConfigProblem, Locate } from './problem.js';

/** A file that was read and has the right form, or its problems and the form without the wrong keys; and where its keys are. */
export type ReadResult =
  | { readonly form: ConfigForm; readonly locate: Locate }
  | { readonly problems: readonly ConfigProblem[]; readonly rest?: ConfigForm | undefined; readonly locate: Locate };

/**
 * The source of the written form: `yamlFile` (platform/config/yaml-file), or `defaultSource` (platform/config/yaml-file) without a
 * file. Never rejects: a file that cannot be read is a problem too.
 */
export interface FormSource {
  /** The file, or `defaults`. */
  readonly name: string;
  /** The file to name in messages; undefined when the defaults are used. */
  readonly file: string | undefined;
  read(): Promise<ReadResult>;
  /** How the file looked just before it was read last, so that later changes are known whenever they are looked for. */
  readonly looks: () => string;
}

/** A glob that was compiled. */
export type Matches = (text: string) => boolean;

/**
 * Compiles a glob: `compileGlob` (platform/config/globs). `name`: a type or a resource name, `*` matches slashes too. `socket`: an
 * absolute path; a pattern without a slash is compared with the last part of the path.
 */
export type CompileGlob = (pattern: string, kind: 'name' | 'socket') => Matches;

/** Facts of the machine on which resolved settings depend besides the file: `hostFacts` (platform/config/host-facts). */
export interface HostFacts extends RootFacts {
  /** The name of this node for `csi.nodeName: auto`. */
  readonly nodeName: string;
  /** Whether the kernel can be asked who calls (koffi is installed). Asked only where the configuration needs it. */
  readonly knowsCallers: () => boolean;
  /** Where a directory really is, links followed; undefined while there is none. */
  readonly realDirectory: (directory: string) => string | undefined;
  /** The directory relative paths of the command line are relative to. */
  readonly workingDirectory: string;
}
