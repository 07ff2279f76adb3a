import { defaultForm } from '../../src/platform/config/compiled-form.js';
import type { ConfigForm } from '../../src/config/file-form.js';
import type { HostFacts } from '../../src/config/ports.js';

/** The defaults as they would be written, with some top-level sections replaced. */
export function formWith(changed: Partial<ConfigForm> = {}): ConfigForm {
  return { ...structuredClone(defaultForm), ...changed };
}

/** An ordinary user on some machine. */
export const somewhere: HostFacts = {
  uid: 1000,
  home: '/of/ann',
  xdgStateHome: undefined,
  nodeName: 'node-1',
  knowsCallers: () => true,
  realDirectory: (directory: string) => directory,
  workingDirectory: '/srv',
};
