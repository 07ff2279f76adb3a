import { execFileSync } from 'node:child_process';

/**
 * A command line that becomes the one that follows it, in kernel namespaces of its own.
 *
 * @param flags of unshare(1)
 * @param prepare a shell script that runs in them first
 */
export function inNamespaces(flags: readonly string[], prepare: string): string[] {
  return ['unshare', ...flags, 'sh', '-c', `${prepare} && exec "$@"`, 'sh'];
}

/** Runs a shell script in the namespaces of a process. @param flags of nsenter(1) */
export function inNamespacesOf(pid: number, flags: readonly string[], script: string): void {
  execFileSync('nsenter', [`--target=${pid}`, ...flags, 'sh', '-c', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** The reason why a script cannot run in such namespaces here, with which a test is skipped. */
export function cannotPrepare(flags: readonly string[], prepare: string): string | undefined {
  const [command, ...args] = [...inNamespaces(flags, prepare), 'true'] as const;
  try {
    execFileSync(command, args, { stdio: 'pipe' });
    return undefined;
  } catch (failure) {
    return `this system allows no ${command} ${flags.join(' ')}: ${(failure as Error).message}`;
  }
}
