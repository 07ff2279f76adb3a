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

/** The reason of the signal that ends a command: Ctrl-C, SIGTERM, or nobody reading its output any more. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** 128 + the number of the signal, as a shell reports it. */
  readonly exitCode: number;
  constructor(exitCode: number) {
    super('interrupted');
    this.exitCode = exitCode;
  }
}

/** Runs what goes on until Ctrl-C, which is its normal end. `work` rejects when the signal aborts. */
export async function untilInterrupted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
