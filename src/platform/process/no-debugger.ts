// Node opens a debugger on 127.0.0.1:9229 when it gets SIGUSR1, unless the program listens for that signal. Every user of this
// machine can connect to that port and run code in this process, which usually runs as root.

/** Ignores SIGUSR1, which log rotation scripts send. Call it before anything else. */
export function refuseDebugger(): void {
  process.on('SIGUSR1', () => undefined);
}
