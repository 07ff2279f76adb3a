import type { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { ReadPace } from '../../../src/model/call-turns.js';
import type { GuardSettings } from '../../../src/model/settings.js';
import { Border } from '../../../src/platform/http2/border.js';
import type { ConnectionEnd } from '../../../src/model/connection-ends.js';
import { encodeFrame, FLAG, FRAME, PREFACE, readHead } from '../../../src/platform/http2/frames.js';
import { FakeClock } from '../fake-clock.js';
import { guardSettings } from './guard-settings.js';
import { memoryPair } from './memory-pair.js';
import { settings, type SeenFrame } from './raw-peer.js';

/** A border in memory, with a clock that moves only when told; the test is client and server. */
export class BorderBed {
  readonly clock = new FakeClock();
  readonly client: Duplex;
  /** Our end of the connection. */
  readonly socket: Duplex;
  readonly border: Border;
  readonly ends: ConnectionEnd[] = [];
  /** The bytes that the server read. */
  readonly served: Buffer[] = [];
  /** The bytes that the client read. */
  readonly answered: Buffer[] = [];
  isServerEnded = false;

  constructor(guard: Partial<GuardSettings> = {}, reads?: ReadPace) {
    const [client, socket] = memoryPair();
    this.client = client;
    this.socket = socket;
    this.border = new Border(socket, {
      guard: { ...guardSettings, ...guard },
      clock: this.clock,
      reads,
      onEnd: (end) => this.ends.push(end),
    });
    this.client.on('error', () => undefined);
    this.client.on('data', (chunk: Buffer) => this.answered.push(chunk));
  }

  /** The server reads what comes. */
  serve(): this {
    this.border.on('data', (chunk: Buffer) => this.served.push(chunk));
    this.border.on('end', () => {
      this.isServerEnded = true;
    });
    return this;
  }

  /** Preface and SETTINGS of the client, SETTINGS of the server. */
  async greet(): Promise<this> {
    await this.send(PREFACE, settings());
    await this.answer(settings());
    return this;
  }

  /** The client sends. */
  async send(...parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) this.client.write(part);
    await this.settle();
  }

  /** The server sends. */
  async answer(...parts: readonly Buffer[]): Promise<void> {
    for (const part of parts) this.border.write(part);
    await this.settle();
  }

  /** Lets streams settle without time passing. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 4; turns++) await turn();
  }

  /** Lets time pass. */
  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.settle();
  }

  /** Codes of the ends, in order. */
  get codes(): string[] {
    return this.ends.map(({ code }) => code);
  }

  /** All that the server read. */
  get servedBytes(): Buffer {
    return Buffer.concat(this.served);
  }

  /** Ids of the calls that reached the server. */
  get servedCalls(): number[] {
    return framesOf(this.servedBytes.subarray(PREFACE.length))
      .filter(({ type }) => type === FRAME.HEADERS)
      .map(({ stream }) => stream);
  }

  /** Frames the client read. */
  get answers(): SeenFrame[] {
    return framesOf(Buffer.concat(this.answered));
  }
}

/** Cuts octets into the whole frames they hold. */
export function framesOf(bytes: Buffer): SeenFrame[] {
  const frames: SeenFrame[] = [];
  for (let at = 0; at + 9 <= bytes.length;) {
    const { length, type, flags, stream } = readHead(bytes, at);
    frames.push({ type, flags, stream, payload: bytes.subarray(at + 9, at + 9 + length) });
    at += 9 + length;
  }
  return frames;
}

/** HEADERS that end an answer. */
export function trailers(stream: number): Buffer {
  return encodeFrame(FRAME.HEADERS, FLAG.END_HEADERS | FLAG.END_STREAM, stream, Buffer.from([0x88]));
}
