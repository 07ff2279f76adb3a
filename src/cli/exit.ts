// How commands end.

/** Exit codes of all commands (contract 7; 69 and 78 are EX_UNAVAILABLE and EX_CONFIG of sysexits.h). */
export const EXIT = { ok: 0, failed: 1, usage: 2, unreachable: 69, config: 78 } as const;

/** A command that failed in a way that was foreseen: the message is printed as it is. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A command that ended with a code of its own and has said all there is to say. */
export class Ended extends Error {
  override readonly name: string = 'Ended';
  readonly exitCode: number;
  constructor(exitCode: number) {
    super(`ended with ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** The reason of the signal that ends a command: Ctrl-C, SIGTERM, or nobody reading its output any more. The code
 * is 128 + the number of the signal, as a shell reports it. */
export class Interrupted extends Ended {
  override readonly name = 'Interrupted';
}

/** Runs what goes on until Ctrl-C, which is its normal end. `work` rejects when the signal aborts. */
export async function untilInterrupted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
