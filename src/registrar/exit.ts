// The end of the registrar, as a value that travels up to the function that ends the process.

/** Ends the program with an exit code. */
export class Exit extends Error {
  override readonly name = 'Exit';
  readonly code: number;
  /** A word for machines, in the termination log. */
  readonly reason: string;
  constructor(code: number, reason: string, message: string) {
    super(message);
    this.code = code;
    this.reason = reason;
  }
}

/** Ends the program because something failed; the message is one sentence. */
export function failed(reason: string, message: string): Exit {
  return new Exit(1, reason, message);
}
