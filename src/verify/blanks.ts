// The names in braces that stand for directories in the plugin's command and environment (contract 13).
import path from 'node:path';
import { KUBELET_DIRECTORY, type Places } from './places.js';

/** What each name in braces stands for. */
export type Blanks = ReadonlyMap<string, string>;

/** The directories as the plugin sees them: with a bound directory those that are built into it. */
export function blanksFor({ kubelet }: Pick<Places, 'kubelet'>, isBound: boolean): Blanks {
  const base = isBound ? KUBELET_DIRECTORY : kubelet;
  const devicePlugins = path.join(base, 'device-plugins');
  return new Map([
    ['devicePlugins', devicePlugins],
    ['registry', path.join(base, 'plugins_registry')],
    ['plugins', path.join(base, 'plugins')],
    ['kubeletSocket', path.join(devicePlugins, 'kubelet.sock')],
  ]);
}

/** Fills the names in; other braces stay as they are. */
export function fillIn(text: string, blanks: Blanks): string {
  return text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => blanks.get(name) ?? whole);
}
