// What is served over HTTP, and to whom.

/** The address of page, metrics and health, undefined when it is off, and names beside localhost and IP addresses. */
export interface HttpSettings {
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly page: 'on' | 'off';
  readonly allowedHosts: readonly string[];
}

/** Whether only this machine reaches what listens on a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
