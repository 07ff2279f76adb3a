// From our client to a server that we called: which calls it opens and gives up. Holds nothing.
import type { Answers } from './answers.js';
import { FRAME, HEAD_BYTES, PREFACE, readHead } from './frames.js';
import type { Guard } from './guard.js';

/** Follows the requests of one client of ours. */
export class Asked {
  readonly #answers: Pick<Answers, 'opened' | 'givenUp'>;
  readonly #guard: Pick<Guard, 'dataSent'>;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #passing = PREFACE.length;

  /** @param answers told of calls before their answers can come */
  constructor(answers: Pick<Answers, 'opened' | 'givenUp'>, guard: Pick<Guard, 'dataSent'>) {
    this.#answers = answers;
    this.#guard = guard;
  }

  /** Sees the next octets of the client. */
  see(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#passing > 0) {
        const step = Math.min(this.#passing, chunk.length - at);
        this.#passing -= step;
        at += step;
        continue;
      }
      const taken = chunk.copy(this.#head, this.#headBytes, at, at + HEAD_BYTES - this.#headBytes);
      this.#headBytes += taken;
      at += taken;
      if (this.#headBytes === HEAD_BYTES) this.#frame();
    }
  }

  #frame(): void {
    this.#headBytes = 0;
    const { type, stream, length } = readHead(this.#head, 0);
    this.#passing = length;
    if (type === FRAME.HEADERS) this.#answers.opened(stream);
    else if (type === FRAME.RST_STREAM) this.#answers.givenUp(stream);
    else if (type === FRAME.DATA) this.#guard.dataSent(length);
  }
}
