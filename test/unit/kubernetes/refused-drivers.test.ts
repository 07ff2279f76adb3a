import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  RefusedDrivers,
  RefusedWrite,
  UnfinishedSearch,
  type Drivers,
} from '../../../src/platform/kubernetes/refused-drivers.js';

const MINUTE_MS = 60_000;
const named = (...drivers: string[]): Drivers =>
  new Map(drivers.map((driver) => [driver, { driver, nodeId: 'n', topology: [] }]));
const many = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${String(at)}`);

/** Refuses rounds with a driver of a name with `bad`, and writes the others down. */
class Server {
  readonly taken = new Set<string>();
  rounds = 0;
  busyAfter = Infinity;
  readonly round = (drivers: Drivers): Promise<ReadonlyMap<string, string>> => {
    this.rounds += 1;
    if (this.rounds > this.busyAfter) return Promise.reject(new Error('too many requests'));
    if ([...drivers.keys()].some((driver) => driver.includes('bad')))
      return Promise.reject(new RefusedWrite(403, 'forbidden'));
    for (const driver of drivers.keys()) this.taken.add(driver);
    return Promise.resolve(new Map());
  };
}

/** One attempt, as the target makes it. @returns the failure */
async function attempt(refused: RefusedDrivers, server: Server, wanted: Drivers, nowMs: number): Promise<unknown> {
  const tried = refused.toTry(wanted, nowMs);
  try {
    await server.round(tried);
    refused.taken(tried);
    return undefined;
  } catch (refusal) {
    if (!(refusal instanceof RefusedWrite)) return refusal;
    return refused.search({ wanted, tried, refusal, nowMs }, server.round).then(
      () => undefined,
      (failure: unknown) => failure,
    );
  }
}

describe('the search for drivers that are refused', () => {
  it('publishes the others, and leaves those that are refused out for a minute, whatever they say meanwhile', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('a', 'bad', 'b');
    assert.equal(await attempt(refused, server, wanted, 0), undefined);
    assert.deepEqual([...server.taken].sort(), ['a', 'b']);
    assert.deepEqual([...refused.sentences], [['bad', 'CSI driver bad is not published: forbidden']]);
    assert.deepEqual([...refused.toTry(named('a', 'bad', 'b'), MINUTE_MS - 1).keys()], ['a', 'b']);
    assert.deepEqual([...refused.toTry(wanted, MINUTE_MS).keys()], ['a', 'b', 'bad']);
  });

  it('leaves one out twice as long each time it is refused, up to ten minutes, and tries eight of them again in an attempt', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('a', ...many('bad', 9));
    const isTried = (nowMs: number): number => refused.toTry(wanted, nowMs).size - 1;
    let now = 0;
    for (const minutes of [1, 2, 4, 8, 10, 10]) {
      for (let nth = 0; nth < 2; nth++) assert.equal(await attempt(refused, server, wanted, now), undefined);
      assert.equal(isTried(now + minutes * MINUTE_MS - 1), 0);
      now += minutes * MINUTE_MS;
      assert.equal(isTried(now), 8);
    }
  });

  it('is right about one that is taken after it was refused, beside others that are refused still', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('a', 'bad1', 'bad2');
    await attempt(refused, server, wanted, 0);
    const round = (drivers: Drivers): Promise<ReadonlyMap<string, string>> =>
      drivers.has('bad2') ? Promise.reject(new RefusedWrite(403, 'forbidden')) : Promise.resolve(new Map());
    assert.equal(await attempt(refused, Object.assign(new Server(), { round }), wanted, MINUTE_MS), undefined);
    assert.deepEqual([...refused.sentences.keys()], ['bad2']);
  });

  it('reaches one that comes after very many that are refused, before those that may be tried again', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const bad = many('bad', 255);
    for (let nowMs = 0; ; nowMs += 1000) {
      const failure = await attempt(refused, server, named(...bad, 'a'), nowMs);
      if (failure === undefined) break;
      assert.ok(failure instanceof UnfinishedSearch);
    }
    server.rounds = 0;
    await attempt(refused, server, named(...bad, 'a', 'new'), 2 * MINUTE_MS);
    assert.deepEqual([...server.taken], ['a', 'new']);
    assert.ok(server.rounds < 40, String(server.rounds));
  });

  it('forgets a driver that is not wanted any more', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    await attempt(refused, server, named('a', 'bad'), 0);
    refused.toTry(named('a'), 1);
    assert.deepEqual([...refused.toTry(named('a', 'bad'), 2).keys()], ['a', 'bad']);
  });

  it('says that one is not published which was refused, came back, and has to wait until others were tried', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('a', ...many('bad', 9));
    await attempt(refused, server, wanted, 0);
    refused.toTry(named('a'), 1);
    const round = (): Promise<ReadonlyMap<string, string>> => Promise.resolve(new Map());
    const kind = Object.assign(new Server(), { round });
    assert.equal(await attempt(refused, kind, wanted, 2), undefined);
    assert.deepEqual([...refused.sentences.keys()], ['bad8']);
    assert.equal(await attempt(refused, kind, wanted, 3), undefined);
    assert.deepEqual([...refused.sentences.keys()], []);
  });

  it('reaches the one that is taken among very many that are refused, in attempts of a bounded length', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named(...many('bad', 255), 'a');
    let attempts = 0;
    for (let failure: unknown = 'none yet'; failure !== undefined; attempts += 1) {
      server.rounds = 0;
      failure = await attempt(refused, server, wanted, attempts);
      assert.ok(server.rounds <= 65, `${String(server.rounds)} rounds`);
      assert.ok(attempts < 20, 'it comes to an end');
    }
    assert.deepEqual([...server.taken], ['a']);
    server.rounds = 0;
    assert.equal(await attempt(refused, server, wanted, 100), undefined);
    assert.equal(server.rounds, 1);
  });

  it('asks once an attempt where all are refused, and publishes all at once when that is over', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('bad1', 'bad2', 'bad3');
    assert.ok((await attempt(refused, server, wanted, 0)) instanceof RefusedWrite);
    server.rounds = 0;
    assert.ok((await attempt(refused, server, wanted, 1)) instanceof RefusedWrite);
    assert.equal(server.rounds, 1);
    const round = (): Promise<ReadonlyMap<string, string>> => Promise.resolve(new Map());
    assert.equal(await attempt(refused, Object.assign(new Server(), { round }), wanted, 2), undefined);
    assert.deepEqual([...refused.sentences], []);
  });

  it('keeps what it found when another failure comes in between', async () => {
    const [refused, server] = [new RefusedDrivers(), new Server()];
    const wanted = named('bad', 'a', 'b', 'c');
    server.busyAfter = 3; // all, the first half, the first of it
    const failure = await attempt(refused, server, wanted, 0);
    assert.equal(failure instanceof Error ? failure.message : '', 'too many requests');
    assert.deepEqual([...refused.toTry(wanted, 1).keys()], ['a', 'b', 'c']);
  });
});
