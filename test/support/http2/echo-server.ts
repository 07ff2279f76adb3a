import {
  experimental,
  Server,
  ServerCredentials,
  type handleServerStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
} from '@grpc/grpc-js';
import { rmSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import type { GuardSettings } from '../../../src/model/settings.js';
import { Border } from '../../../src/platform/http2/border.js';
import { HALF_REQUEST_BYTES } from '../../../src/platform/http2/calls.js';
import type { ConnectionEnd } from '../../../src/model/connection-ends.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { tempDir } from '../temp-dir.js';
import { guardSettings } from './guard-settings.js';

const method = (name: string, responseStream: boolean): MethodDefinition<Buffer, Buffer> => ({
  path: `/t.Echo/${name}`,
  requestStream: false,
  responseStream,
  requestSerialize: (message) => message,
  requestDeserialize: (octets) => octets,
  responseSerialize: (message) => message,
  responseDeserialize: (octets) => octets,
});

/** A service of bytes: Unary gives back what it got; Flow sends so many KiB as the request has bytes; Hang never answers. */
export const echoService = { unary: method('Unary', false), flow: method('Flow', true), hang: method('Hang', false) };

/** The settings of a test. */
export interface EchoOptions {
  readonly guard?: Partial<GuardSettings>;
  /** false: the server reads the socket itself, as without a border. */
  readonly isGuarded?: boolean;
  readonly streams?: number;
}

/** A real grpc-js server on a unix socket, each connection behind a border. */
export class EchoServer {
  readonly path = path.join(tempDir(), 's');
  /** Why the border ended connections, in order. */
  readonly ends: ConnectionEnd[] = [];
  readonly borders = new Set<Border>();
  /** Values of :authority as the server saw them. */
  readonly hosts: string[] = [];
  readonly #options: EchoOptions;
  readonly #server: Server;
  readonly #listener: net.Server;
  readonly #sockets = new Set<net.Socket>();

  constructor(options: EchoOptions = {}) {
    this.#options = options;
    this.#server = new Server({
      'grpc.enable_channelz': 0,
      'grpc.max_concurrent_streams': options.streams ?? 128,
    });
    const unary: handleUnaryCall<Buffer, Buffer> = (call, done) => {
      this.hosts.push(call.getHost());
      done(null, call.request);
    };
    const flow: handleServerStreamingCall<Buffer, Buffer> = (call) => {
      for (let kib = 0; kib < call.request.length; kib++) call.write(Buffer.alloc(1024));
      call.end();
    };
    this.#server.addService(echoService, { unary, flow, hang: () => undefined });
    this.#listener = net.createServer((socket) => this.#accept(socket));
  }

  /** Sockets that are open. */
  get connections(): number {
    return this.#sockets.size;
  }

  /** HTTP/2 sessions that grpc-js holds; there is no public way to count them. */
  get sessions(): number {
    return (this.#server as unknown as { sessions: Map<unknown, unknown> }).sessions.size;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#listener.listen(this.path, resolve));
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.#server.forceShutdown();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
    rmSync(this.path, { force: true });
  }

  #accept(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    const credentials = experimental.createServerCredentialsWithInterceptors(ServerCredentials.createInsecure(), []);
    const injector = this.#server.createConnectionInjector(credentials);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      injector.destroy();
    });
    if (this.#options.isGuarded === false) {
      injector.injectConnection(socket);
      return;
    }
    const border = new Border(socket, {
      guard: { ...guardSettings, ...this.#options.guard },
      clock: systemClock,
      halfRequestBytes: HALF_REQUEST_BYTES,
      onEnd: (end) => this.ends.push(end),
    });
    this.borders.add(border);
    border.once('close', () => this.borders.delete(border));
    injector.injectConnection(border);
  }
}
