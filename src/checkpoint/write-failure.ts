// The sentence for an operator when a generation cannot be written.

/** Remedies against errors of the system, by the beginning of the message. */
const REMEDIES: readonly (readonly [RegExp, (folder: string) => string])[] = [
  [/\b(ENOSPC|EDQUOT)\b/, (folder) => `make room on the disk of ${folder}`],
  [/\b(EACCES|EPERM|EROFS)\b/, (folder) => `let the user of the broker write in ${folder}`],
  [
    /\bEMFILE\b/,
    () =>
      'the broker has no file descriptor left: `plugin-broker limits` says who has them; raise its limit (LimitNOFILE)',
  ],
  [/\bENFILE\b/, () => 'the machine has no file descriptor left (fs.file-max): find the process that has them'],
  [/\bEIO\b/, (folder) => `the disk of ${folder} has an error: look at the log of the kernel`],
];

/**
 * The sentence for a write that failed.
 *
 * @param failure the system's message
 * @param folder the state directory
 */
export function writeFailure(failure: string, folder: string): string {
  const [, remedy] = REMEDIES.find(([code]) => code.test(failure)) ?? [];
  return `the checkpoint is not on the disk: ${failure}${remedy === undefined ? '' : `; ${remedy(folder)}`}`;
}
