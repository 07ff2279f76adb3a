import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Inventory, type Decoded, type InventoryPorts, type ListDecoder } from '../../../src/inventory/inventory.js';
import { noMetrics } from '../../support/silence.js';
import { list } from '../../support/session-bed.js';
import { loadDefaults } from '../../support/test-settings.js';

const never = new AbortController().signal;
const decoded = (devices: number): Decoded => ({
  ok: true,
  sha256: 'x',
  summary: { devices, healthy: devices, duplicates: [] },
});

class Bed {
  decodes = 0;
  decode: ListDecoder = () => Promise.resolve(decoded(2));
  readonly applied: [devices: number, before: number | undefined][] = [];
  readonly refused: string[] = [];
  readonly updates: string[] = [];
  readonly live = { admission: loadDefaults('/r').settings.admission };
  /** Users by instance. */
  strangers: ReadonlyMap<string, number> = new Map();
  readonly inventory: Inventory;

  constructor() {
    const ports: InventoryPorts = {
      decode: (raw, maxDevices, signal) => {
        this.decodes += 1;
        return this.decode(raw, maxDevices, signal);
      },
      live: this.live,
      strangerOf: (id) => this.strangers.get(id),
      metrics: { ...noMetrics, update: (resource, result) => void this.updates.push(`${resource} ${result}`) },
    };
    this.inventory = new Inventory(ports);
    this.inventory.listeners.follow({
      listApplied: (holding, before) => void this.applied.push([holding.devices, before?.devices]),
      listRefused: (_id, code) => void this.refused.push(code),
    });
  }

  offer(raw: Buffer, id = 'a', signal = never): ReturnType<Inventory['offer']> {
    return this.inventory.offer(id, `r-${id}`, raw, signal);
  }
}

describe('lists of a user that is neither root nor the broker', () => {
  it('have a quarter of the room, and such users together three', async () => {
    const bed = new Bed();
    bed.live.admission = { ...bed.live.admission, maxListBytesTotal: 4 * list(10).length };
    bed.strangers = new Map([
      ['a', 1],
      ['b', 1],
      ['c', 2],
      ['d', 3],
      ['e', 4],
    ]);
    const kinds = [];
    for (const id of ['a', 'b', 'c', 'd', 'e', 'root']) kinds.push((await bed.offer(list(10), id)).kind);
    assert.deepEqual(kinds, ['applied', 'refused', 'applied', 'applied', 'refused', 'applied']);
    assert.deepEqual(bed.refused, ['CAP_LIST_BYTES', 'CAP_LIST_BYTES']);
    assert.equal((await bed.offer(list(9), 'a')).kind, 'applied', 'in the place of its own');
  });
});

describe('a list that is offered', () => {
  it('replaces the one before, and says what it replaced', async () => {
    const bed = new Bed();
    assert.deepEqual(await bed.offer(list(2)), { kind: 'applied', devices: 2 });
    bed.decode = () => Promise.resolve(decoded(5));
    assert.deepEqual(await bed.offer(list(5)), { kind: 'applied', devices: 5 });
    assert.deepEqual(bed.applied, [
      [2, undefined],
      [5, 2],
    ]);
    assert.equal(bed.inventory.bytes, list(5).length);
  });

  it('and is equal to the last one is not decoded', async () => {
    const bed = new Bed();
    await bed.offer(list(2));
    assert.deepEqual(await bed.offer(Buffer.from(list(2))), { kind: 'equal', devices: 2 });
    assert.equal(bed.decodes, 1);
    assert.deepEqual(bed.updates, ['r-a applied', 'r-a equal']);
  });

  it('and cannot be decoded leaves the last good one in place', async () => {
    const bed = new Bed();
    await bed.offer(list(2));
    bed.decode = () => Promise.resolve({ ok: false, code: 'REQUEST_INVALID', sentence: 'it is cut off' });
    const offered = await bed.offer(Buffer.from('?'));
    assert.deepEqual(offered, { kind: 'refused', sentence: 'the list of r-a is refused: it is cut off' });
    assert.equal(bed.inventory.known('a'), 2);
    assert.deepEqual(bed.refused, ['REQUEST_INVALID']);
  });

  it('beyond a cap is refused undecoded, and the sentence names the setting', async () => {
    const bed = new Bed();
    bed.live.admission = { ...bed.live.admission, maxMessageBytes: 10 };
    const large = await bed.offer(list(20));
    assert.match(large.kind === 'refused' ? large.sentence : '', /admission\.maxMessageBytes allows 10$/);
    bed.live.admission = { ...bed.live.admission, maxMessageBytes: 1000, maxListBytesTotal: list(20).length + 1 };
    await bed.offer(list(20), 'a');
    const total = await bed.offer(list(20), 'b');
    assert.match(total.kind === 'refused' ? total.sentence : '', /admission\.maxListBytesTotal allows/);
    assert.deepEqual(bed.refused, ['LIST_TOO_LARGE', 'CAP_LIST_BYTES']);
    assert.equal(bed.decodes, 1);
    assert.equal((await bed.offer(list(19), 'a')).kind, 'applied', 'its own last list does not stand in its way');
  });

  it('while others are being decoded counts with them: together they keep the cap', async () => {
    const bed = new Bed();
    bed.live.admission = { ...bed.live.admission, maxListBytesTotal: list(20).length * 3 };
    const opened: (() => void)[] = [];
    bed.decode = () => new Promise((resolve) => void opened.push(() => resolve(decoded(20))));
    const offers = Array.from({ length: 10 }, (_, at) => bed.offer(list(20), String(at)));
    for (const open of opened) open();
    const kinds = (await Promise.all(offers)).map(({ kind }) => kind);
    assert.equal(kinds.filter((kind) => kind === 'applied').length, 3);
    assert.ok(bed.inventory.bytes <= bed.live.admission.maxListBytesTotal);
    bed.inventory.drop('0');
    const again = bed.offer(list(20), '9');
    opened.at(-1)?.();
    assert.equal((await again).kind, 'applied', 'a refused or dropped list takes no room');
  });

  it('by a session that ended meanwhile is not taken', async () => {
    const bed = new Bed();
    const halt = new AbortController();
    const offered = bed.offer(list(2), 'a', halt.signal);
    halt.abort(new Error('session closed'));
    await assert.rejects(offered, /session closed/);
    assert.equal(bed.inventory.holding('a'), undefined);
    assert.equal(bed.inventory.bytes, 0);
  });

  it('as a small part of a pool does not keep the pool alive', async () => {
    const bed = new Bed();
    const pool = Buffer.alloc(1024 * 1024);
    const small = pool.subarray(0, list(2).length);
    list(2).copy(small);
    await bed.offer(small);
    assert.ok((bed.inventory.holding('a')?.raw.buffer.byteLength ?? Infinity) < 16 * 1024);
  });

  it('of a name like __proto__ is one like any other', async () => {
    const bed = new Bed();
    for (const id of ['__proto__', 'constructor', 'hasOwnProperty']) await bed.offer(list(2), id);
    assert.equal([...bed.inventory.all()].length, 3);
    assert.equal(bed.inventory.known('toString'), undefined);
    bed.inventory.drop('__proto__');
    assert.equal(bed.inventory.bytes, 2 * list(2).length);
  });
});
