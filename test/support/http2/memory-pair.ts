import { Duplex } from 'node:stream';

/** One end of a connection in memory: bytes written here are read there, and a write is done when it was read. */
class MemoryEnd extends Duplex {
  peer: MemoryEnd | undefined;
  #done: ((error?: Error) => void) | undefined;

  override _read(): void {
    this.peer?.taken();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error) => void): void {
    this.#done = done;
    this.peer?.push(chunk);
  }

  override _final(done: (error?: Error) => void): void {
    this.peer?.push(null);
    done();
  }

  /** The other end wants more. */
  taken(): void {
    const done = this.#done;
    this.#done = undefined;
    if (done !== undefined) process.nextTick(done);
  }
}

/** Two connected ends with back-pressure, as a socket pair has it. */
export function memoryPair(): [Duplex, Duplex] {
  const [one, other] = [new MemoryEnd(), new MemoryEnd()];
  one.peer = other;
  other.peer = one;
  return [one, other];
}
