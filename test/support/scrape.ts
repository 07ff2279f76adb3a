import type { BrokerProcess } from './broker-process.js';
import { eventually } from './eventually.js';

/** The address of what a broker serves by HTTP, with a slash at its end; `http.listen` has to be a port of 127.0.0.1. */
export function httpOf(broker: BrokerProcess): Promise<string> {
  return eventually('it listens', () => {
    const [address] = [...broker.log.matchAll(/"address":"(127\.0\.0\.1:\d+)"/g)].slice(-1).map(([, at]) => at);
    return address === undefined ? undefined : `http://${address}/`;
  });
}

/** /metrics as it is now, by series: a metric's name with its labels, as it is written there. */
export async function scrape(broker: BrokerProcess): Promise<Map<string, number>> {
  const text = await (await fetch(`${await httpOf(broker)}metrics`)).text();
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}
