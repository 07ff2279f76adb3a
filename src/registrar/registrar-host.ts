// The process that runs the registrar.
import type { RegistrarHost } from './registrar.js';

/**
 * This process as the registrar sees it.
 *
 * @param program how it was called
 */
export function registrarHost(program: string, version: string): RegistrarHost {
  return {
    program,
    version,
    argv: process.argv.slice(1),
    pid: process.pid,
    writeOut: (text) => void process.stdout.write(text),
    writeErr: (text) => void process.stderr.write(text),
    onSignal: (told) => {
      const onTerm = (): void => told('SIGTERM');
      const onInt = (): void => told('SIGINT');
      process.on('SIGTERM', onTerm).on('SIGINT', onInt);
      return () => process.off('SIGTERM', onTerm).off('SIGINT', onInt);
    },
  };
}
