// Checks who can see the status page and the metrics.
import { isLoopback } from '../../model/http.js';
import { finding, type Finding, type Scope } from './finding.js';

/** The address that the pages are meant for, and the clients that can reach it; whether they are served is the daemon's to say. */
export function checkHttp({ settings }: Scope): readonly Finding[] {
  const { listen, page } = settings.http;
  if (listen === undefined)
    return [finding('http', 'ok', 'http.listen is off: there is no status page, and there are no metrics')];
  const where = `http://${listen.host.includes(':') ? `[${listen.host}]` : listen.host}:${String(listen.port)}/`;
  const what = `http.listen is ${where}, for ${page === 'on' ? 'the status page and metrics' : 'metrics'}`;
  if (isLoopback(listen.host)) return [finding('http', 'ok', `${what}, which this machine alone can reach`)];
  const seen = page === 'on' ? 'names of plugins, paths and uids' : 'names of plugins';
  const remedy = 'keep strangers from the port, or set http.listen to 127.0.0.1:9720';
  return [finding('http', 'warn', `${what}: every client that reaches it sees ${seen}; ${remedy}`)];
}
