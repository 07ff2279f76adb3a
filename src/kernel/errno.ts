/** Whether something that was thrown is a failure of the system with one of these codes, ENOENT for example. */
export function hasCode(thrown: unknown, ...codes: readonly string[]): boolean {
  return thrown instanceof Error && codes.includes((thrown as NodeJS.ErrnoException).code ?? '');
}
