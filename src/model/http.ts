// The pages over HTTP, and the clients that reach them.

/** The address of page, metrics and health, undefined when it is off, and names beside localhost and IP addresses. */
export interface HttpSettings {
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly page: 'on' | 'off';
  readonly allowedHosts: readonly string[];
}

/** Whether only this machine reaches a listener on a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
