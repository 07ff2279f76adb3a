// The last that a process wrote. A plugin may write without end: what is kept is bounded, and everything is read.

/** Bytes that are kept. */
const KEPT = 64 * 1024;

/** Keeps the end of a stream of bytes. */
export class OutputTail {
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  /** Takes what was written. */
  take(chunk: Buffer): void {
    this.#total += chunk.length;
    this.#chunks.push(chunk);
    this.#kept += chunk.length;
    while (this.#kept - (this.#chunks[0]?.length ?? 0) >= KEPT) this.#kept -= this.#chunks.shift()?.length ?? 0;
    if (this.#chunks.length > KEPT / 256) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** All bytes ever written. */
  get total(): number {
    return this.#total;
  }

  /** The end of what was written, as text; says how much is left out. */
  text(): string {
    const kept = Buffer.concat(this.#chunks);
    const tail = kept.subarray(Math.max(0, kept.length - KEPT)).toString('utf8');
    const left = this.#total - Math.min(kept.length, KEPT);
    return left === 0 ? tail : `… ${left} bytes before this are left out\n${tail}`;
  }

  /** The last line that says something; empty when nothing was written. */
  lastLine(): string {
    return (
      this.text()
        .split('\n')
        .map((line) => line.trim())
        .findLast((line) => line !== '') ?? ''
    );
  }
}
