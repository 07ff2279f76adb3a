// Whom a request believes to talk to. A web page of a stranger can let its own name lead to 127.0.0.1 (DNS rebinding) and
// read what is served there; then its name stands in `Host`.
import { isIP } from 'node:net';

/** Whether `Host` names this server: an IP address, localhost, or a name that was allowed (http.allowedHosts). */
export function isOwnHost(host: string | undefined, allowed: readonly string[]): boolean {
  if (host === undefined) return false;
  const [, bracketed, plain] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]/@\s]+))(?::\d{1,5})?$/.exec(host) ?? [];
  if (bracketed !== undefined) return isIP(bracketed) === 6;
  if (plain === undefined) return false;
  const name = plain.toLowerCase().replace(/\.$/, '');
  return name === 'localhost' || isIP(name) === 4 || allowed.some((one) => one.toLowerCase() === name);
}
