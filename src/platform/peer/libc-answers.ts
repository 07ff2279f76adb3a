// What system calls answer.

/** The process at the other end of a connected unix socket, as the kernel names it. */
export interface Credentials {
  readonly uid: number;
  readonly gid: number;
  /** 0 where the process is not visible from here (another pid namespace). */
  readonly pid: number;
}

/** A call that failed, with the system's code such as ECONNREFUSED. */
export interface Failed {
  readonly error: string;
}

/** A connection of TCP that was accepted. */
export interface AcceptedTcp {
  /** Its descriptor, which is the caller's to close. */
  readonly fd: number;
  /** The address at its other end, as Node writes it or without `::`. */
  readonly address: string;
  /** As `uidOfTcp` says it. */
  readonly uid: number | 'nobody' | undefined;
}

/** A descriptor, or why nothing was accepted: most often EAGAIN, nobody waits. */
export type Accepted = number | Failed;
