import net from 'node:net';
import {
  encodeFrame,
  encodeHeaders,
  FLAG,
  FRAME,
  HEAD_BYTES,
  PREFACE,
  readHead,
} from '../../../src/platform/http2/frames.js';
import { HpackDecoder } from '../../../src/platform/http2/hpack-decoder.js';
import { Empty } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { indexed, literal } from './hpack-writer.js';
import { message, settings } from './raw-peer.js';

const NONE: Buffer = Buffer.alloc(0);
/** `:status: 200` is entry 8 of the static table. */
const ANSWER = Buffer.concat([indexed(8), literal('content-type', 'application/grpc')]);
const TRAILERS = literal('grpc-status', '0');

/** The header frame with which an answer begins. */
export function answerHeaders(stream: number): Buffer {
  return Buffer.concat(encodeHeaders(0, stream, ANSWER));
}

/** A whole unary answer. */
export function answer(stream: number, payload: Buffer): Buffer {
  return Buffer.concat([
    answerHeaders(stream),
    encodeFrame(FRAME.DATA, 0, stream, message(payload)),
    ...encodeHeaders(FLAG.END_STREAM, stream, TRAILERS),
  ]);
}

/** A header block of status 103, as often as somebody likes. */
export function earlyHints(stream: number): Buffer {
  return Buffer.concat(encodeHeaders(0, stream, Buffer.concat([literal(':status', '103'), literal('link', 'x')])));
}

/** One connection of a client. */
export class ServedConnection {
  readonly socket: net.Socket;
  isClosed = false;
  /** Codes of RST_STREAM that came, by call. */
  readonly resets = new Map<number, number>();
  #rest: Buffer = NONE;
  #hasPreface = false;
  readonly #decoder = new HpackDecoder(65_536);

  constructor(socket: net.Socket, called: (method: string, stream: number, connection: ServedConnection) => void) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => (this.isClosed = true));
    socket.write(settings());
    socket.on('data', (chunk) => {
      this.#rest = Buffer.concat([this.#rest, chunk]);
      if (!this.#hasPreface && this.#rest.length >= PREFACE.length) {
        this.#hasPreface = true;
        this.#rest = this.#rest.subarray(PREFACE.length);
      }
      while (this.#hasPreface && this.#rest.length >= HEAD_BYTES) {
        const head = readHead(this.#rest, 0);
        if (this.#rest.length < HEAD_BYTES + head.length) return;
        const payload = this.#rest.subarray(HEAD_BYTES, HEAD_BYTES + head.length);
        this.#rest = this.#rest.subarray(HEAD_BYTES + head.length);
        if (head.type === FRAME.SETTINGS && (head.flags & FLAG.ACK) === 0) {
          this.write(encodeFrame(FRAME.SETTINGS, FLAG.ACK, 0, NONE));
        }
        if (head.type === FRAME.RST_STREAM) this.resets.set(head.stream, payload.readUInt32BE(0));
        if (head.type !== FRAME.HEADERS) continue;
        const priority = (head.flags & FLAG.PRIORITY) !== 0 ? 5 : 0;
        const fields = this.#decoder.decode(payload.subarray(priority));
        const path = fields.find(({ name }) => name === ':path')?.value ?? '';
        called(path.slice(path.lastIndexOf('/') + 1), head.stream, this);
      }
    });
  }

  write(...parts: readonly Buffer[]): boolean {
    return this.socket.write(Buffer.concat(parts));
  }

  /** Writes a piece as fast as it is taken, so many times or until the other side closes. */
  async flood(piece: Buffer, turns: number): Promise<void> {
    const many = Buffer.concat(Array.from({ length: 100 }, () => piece));
    for (let turn = 0; turn < turns && !this.isClosed; turn += 100) {
      if (this.socket.write(many)) continue;
      await new Promise<void>((resolve) => this.socket.once('drain', resolve).once('close', resolve));
    }
  }
}

/** A server that speaks HTTP/2 octet by octet: it answers every call with an empty message but those it is told to attack. */
export class HostilePlugin {
  readonly connections: ServedConnection[] = [];
  readonly #server: net.Server;

  private constructor(server: net.Server) {
    this.#server = server;
  }

  /**
   * Listens.
   *
   * @param attack by method; called instead of answering
   */
  static async start(
    socket: string,
    attack: Readonly<Record<string, (connection: ServedConnection, stream: number) => void | Promise<void>>>,
    answers: Readonly<Record<string, Buffer>> = {},
  ): Promise<HostilePlugin> {
    const server = net.createServer((accepted) => {
      plugin.connections.push(
        new ServedConnection(accepted, (method, stream, connection) => {
          const act = attack[method];
          if (act === undefined) connection.write(answer(stream, answers[method] ?? Empty.encode({})));
          else void act(connection, stream);
        }),
      );
    });
    const plugin = new HostilePlugin(server);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    return plugin;
  }

  stop(): Promise<void> {
    for (const { socket } of this.connections) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
