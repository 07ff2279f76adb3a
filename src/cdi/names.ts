// Names of CDI files and devices. A lease has one file with one device of the name of its id, because two files that define
// the same device make both vanish, and the id of a lease is never used again.

const FILE = /^plugin-broker-lease_([0-9a-z]{26})\.json$/;
const WRITTEN = /^\.plugin-broker_([0-9a-f]{16})_([0-9a-z]{26})$/;
const ORIGIN = /^([0-9a-f]{16})\.(.+)$/;

/**
 * Says in a file which root wrote it and in which boot. Annotations could, but readers of this version of the format refuse them.
 */
export const ORIGIN_ENV = 'PLUGIN_BROKER_ORIGIN';

/** The writer of files: one root of a broker, in one boot. */
export interface Origin {
  /** 16 hexadecimal digits, the same in every life of a broker on this root. */
  readonly root: string;
  readonly boot: string;
}

/** The file of a lease. */
export function fileOf(leaseId: string): string {
  return `plugin-broker-lease_${leaseId}.json`;
}

/** The lease of a file; undefined for files of others. */
export function leaseOf(file: string): string | undefined {
  return FILE.exec(file)?.[1];
}

/** The name under which a file is written: engines read no file with its suffix, and it names its lease and its root. */
export function writtenAs(leaseId: string, root: string): string {
  return `.plugin-broker_${root}_${leaseId}`;
}

/** The lease of a file that a broker of this root was writing; undefined for other names. */
export function writtenBy(file: string, root: string): string | undefined {
  const [, by, leaseId] = WRITTEN.exec(file) ?? [];
  return by === root ? leaseId : undefined;
}

/** The name by which engines know a lease. */
export function deviceName(kind: string, leaseId: string): string {
  return `${kind}=${leaseId}`;
}

/** The variable's value. */
export function originText({ root, boot }: Origin): string {
  return `${root}.${boot}`;
}

/** The writer of a file, from the variable's value. */
export function originOf(text: string): Origin | undefined {
  const [, root, boot] = ORIGIN.exec(text) ?? [];
  return root === undefined || boot === undefined ? undefined : { root, boot };
}
