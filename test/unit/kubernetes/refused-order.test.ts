import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusedDrivers, RefusedWrite, type Drivers } from '../../../src/platform/kubernetes/refused-drivers.js';

/** A backoff of drivers some of which are refused each time. */
const PAUSE_MS = 15_000;
const refusal = new RefusedWrite(403, 'a label is protected');

describe('the search for drivers that are refused', () => {
  it('comes to a driver behind more of them than it finds before they are tried again', async () => {
    const refused = new RefusedDrivers();
    const published = new Set<string>();
    const round = (drivers: Drivers): Promise<ReadonlyMap<string, string>> => {
      if ([...drivers.keys()].some((name) => name.startsWith('bad'))) return Promise.reject(refusal);
      refused.taken(drivers);
      for (const name of drivers.keys()) published.add(name);
      return Promise.resolve(new Map());
    };
    const bad = Array.from({ length: 250 }, (_, at) => `bad${String(at)}`);
    const wanted = new Map(
      [...bad, 'good'].map((name) => [name, { driver: name, nodeId: 'n', topology: [] }] as const),
    );
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const nowMs = attempt * PAUSE_MS;
      const tried = refused.toTry(wanted, nowMs);
      await round(tried).catch(() => refused.search({ wanted, tried, refusal, nowMs }, round).catch(() => undefined));
    }
    assert.deepEqual([...published], ['good']);
  });
});
