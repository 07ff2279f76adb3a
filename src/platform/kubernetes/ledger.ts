// Which drivers we made public, across restarts: a CSINode also has the drivers of others, and those are not ours to
// remove when one of ours vanished while the broker was down.
import { readIfThere, replaceFile } from './atomic-file.js';

/** The drivers that this broker published under a node name, on disk before they are published. */
export class Ledger {
  readonly #file: string;
  readonly #nodeName: string;
  #drivers: ReadonlySet<string> | undefined;
  #isWritten = true;

  constructor(file: string, nodeName: string) {
    this.#file = file;
    this.#nodeName = nodeName;
  }

  /** The drivers written there. A damaged file, or one of another node, counts as empty. @throws Error when it cannot be read */
  async drivers(): Promise<ReadonlySet<string>> {
    this.#drivers ??= await this.#read();
    return this.#drivers;
  }

  /**
   * Adds and removes; written only when something changes.
   *
   * @throws Error when it could not be written; it is remembered all the same, and written with the next change
   */
  async change(added: Iterable<string>, removed: Iterable<string>): Promise<void> {
    const before = await this.drivers();
    const drivers = new Set(before);
    for (const driver of added) drivers.add(driver);
    for (const driver of removed) drivers.delete(driver);
    const isSame = drivers.size === before.size && [...drivers].every((driver) => before.has(driver));
    if (isSame && this.#isWritten) return;
    this.#drivers = drivers;
    this.#isWritten = false;
    await replaceFile(
      this.#file,
      `${JSON.stringify({ format: 1, nodeName: this.#nodeName, drivers: [...drivers] })}\n`,
    );
    this.#isWritten = true;
  }

  async #read(): Promise<ReadonlySet<string>> {
    const text = await readIfThere(this.#file);
    if (text === undefined) return new Set();
    try {
      const { nodeName, drivers } = JSON.parse(text) as { nodeName: string; drivers: unknown[] };
      const names = drivers.filter((driver): driver is string => typeof driver === 'string');
      return new Set(nodeName === this.#nodeName ? names : []);
    } catch {
      return new Set();
    }
  }
}
