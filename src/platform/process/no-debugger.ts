// Node opens a debugger on 127.0.0.1:9229 when it gets SIGUSR1, unless somebody listens for that signal. Whoever reaches that
// port, any user of this machine, runs code in this process, which is root's as a rule.

/** Takes SIGUSR1, which scripts send to have logs opened anew, for nothing at all. Call it before anything else. */
export function refuseDebugger(): void {
  process.on('SIGUSR1', () => undefined);
}
