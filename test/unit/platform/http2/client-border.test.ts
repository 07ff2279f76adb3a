import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, it } from 'node:test';
import type { ReadPace } from '../../../../src/model/call-turns.js';
import { ClientBorder } from '../../../../src/platform/http2/client-border.js';
import { encodeFrame, FRAME } from '../../../../src/platform/http2/frames.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { guardSettings } from '../../../support/http2/guard-settings.js';
import { memoryPair } from '../../../support/http2/memory-pair.js';
import { settings } from '../../../support/http2/raw-peer.js';
import { HeldTurns, resting } from '../../../support/http2/read-pace.js';

const PING = encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8));
/** More than the begin of a connection takes. */
const MORE = 40;

/** The border before a server that is the test. */
class Bed {
  readonly clock = new FakeClock();
  readonly server: Duplex;
  readonly ends: string[] = [];
  readonly border: ClientBorder;
  read = 0;

  constructor(reads: ReadPace) {
    const [server, socket] = memoryPair();
    this.server = server;
    server.on('error', () => undefined);
    const onEnd = ({ code }: { readonly code: string }): void => void this.ends.push(code);
    this.border = new ClientBorder(socket, { guard: guardSettings, clock: this.clock, reads, onEnd });
    this.border.on('data', (chunk: Buffer) => (this.read += chunk.length));
  }

  async send(...parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) this.server.write(part);
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turns = 0; turns < 2 * MORE; turns++) await turn();
  }
}

describe('the border before a server that we call', () => {
  it('does not read it for as long as the pace of frames and reads that no call earned says', async () => {
    const told: number[] = [];
    const bed = new Bed(resting((count) => told.push(count) * 500));
    // A frame of a type that nobody knows, octet by octet.
    const unknown = encodeFrame(0x42, 0, 0, Buffer.alloc(MORE));
    await bed.send(settings(), ...[...unknown].map((octet) => Buffer.from([octet])));
    assert.deepEqual(told, [6]);
    const before = bed.read;
    await bed.clock.advance(499);
    await bed.settle();
    assert.deepEqual(told, [6]);
    await bed.clock.advance(1);
    await bed.settle();
    assert.equal(told[1], 6);
    assert.equal(bed.read, before);
    bed.border.destroy();
  });

  it('cuts nobody off for a header block that it did not read, and reads it afterwards', async () => {
    const rest = guardSettings.headersMs + 1_000;
    const bed = new Bed(resting((count) => (count > 0 ? rest : 0)));
    const [first, ...further] = [...encodeFrame(FRAME.HEADERS, 4, 1, Buffer.from([0x88]))];
    await bed.send(settings());
    // The frames that the connection owes for, and the head of a block.
    await bed.send(
      Buffer.concat([...Array.from({ length: MORE }, () => PING), Buffer.from([first ?? 0, ...further.slice(0, 8)])]),
    );
    await bed.send(Buffer.from(further.slice(8)));
    await bed.clock.advance(rest);
    await bed.settle();
    assert.deepEqual(bed.ends, []);
    assert.ok(bed.read >= settings().length + MORE * PING.length, String(bed.read));
    bed.border.destroy();
  });

  it('takes up each read in its turn, and reads nothing before', async () => {
    const turns = new HeldTurns();
    const bed = new Bed(turns);
    await bed.send(settings());
    await bed.send(PING, PING);
    assert.deepEqual([bed.read, turns.waiting.length], [0, 1]);
    turns.waiting.shift()?.();
    await bed.settle();
    assert.deepEqual([bed.read, turns.waiting.length], [settings().length, 1]);
    bed.border.destroy();
    turns.waiting.shift()?.();
    await bed.settle();
    assert.deepEqual([bed.read, turns.waiting.length, bed.ends.length], [settings().length, 0, 0]);
  });

  it('ends in its turn, too, when the server has gone', async () => {
    const turns = new HeldTurns();
    const bed = new Bed(turns);
    let hasEnded = false;
    bed.border.once('end', () => (hasEnded = true));
    bed.server.end();
    await bed.settle();
    const waited = [hasEnded, turns.waiting.length];
    turns.waiting.shift()?.();
    await bed.settle();
    assert.deepEqual([waited, hasEnded, bed.ends], [[false, 1], true, []]);
    bed.border.destroy();
  });
});
