// The end of a process's output. A plugin may write without end: a bounded part is kept, and everything is read.

/** Bytes that are kept. */
const KEPT = 64 * 1024;

/** Keeps the end of a stream of bytes. */
export class OutputTail {
  #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  /** Takes output. */
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

  /** The end of the output, as text; says how much is left out. */
  text(): string {
    const kept = Buffer.concat(this.#chunks);
    const tail = kept.subarray(Math.max(0, kept.length - KEPT)).toString('utf8');
    const left = this.#total - Math.min(kept.length, KEPT);
    return left === 0 ? tail : `… ${left} bytes before this are left out\n${tail}`;
  }

  /**
   * The last line that says something; of a crashed Go program the line of its panic, and not the last frame of the
   * stack beneath it. Empty when nothing was written.
   */
  lastLine(): string {
    const lines = this.text()
      .split('\n')
      .map((line) => line.trim());
    return panicIn(lines) ?? lines.findLast((line) => line !== '') ?? '';
  }

  /** The message of a crash in the output after so many bytes, as far as it is kept; undefined where there is none. */
  crashSince(total: number): string | undefined {
    const written = Buffer.from(this.text());
    const fresh = written.subarray(Math.max(0, written.length - (this.#total - total))).toString('utf8');
    const lines = fresh.split('\n').map((line) => line.trim());
    const panic = panicIn(lines);
    if (panic !== undefined) return panic;
    return lines.includes(PYTHON_TRACE) ? lines.findLast((line) => line !== '') : undefined;
  }
}

/** The lines that Go's runtime writes before the stacks of its goroutines, and Python before its own. */
const GO_PANIC = /^(panic: |fatal error: )/;
const GO_STACK = /^goroutine \d+ /;
const PYTHON_TRACE = 'Traceback (most recent call last):';

function panicIn(lines: readonly string[]): string | undefined {
  const stack = lines.findIndex((line) => GO_STACK.test(line));
  if (stack < 0) return undefined;
  return lines.slice(0, stack).findLast((line) => GO_PANIC.test(line));
}
