// How commands end.

/**
 * Exit codes of all commands: 69, 75, 77 and 78 are EX_UNAVAILABLE, EX_TEMPFAIL, EX_NOPERM and EX_CONFIG of sysexits.h; 126
 * and 127 are those of env(1) for a command that cannot be run, or is not there.
 */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** `status`: the daemon answers and is not ready. */
  notReady: 3,
  unreachable: 69,
  noDevices: 75,
  notAllowed: 77,
  config: 78,
  cannotRun: 126,
  noCommand: 127,
} as const;

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

/** Runs work that goes on until Ctrl-C, which is its normal end. `work` rejects when the signal aborts. */
export async function untilInterrupted(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}
