import path from 'node:path';
import { Client, credentials, Metadata, type status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import {
  devicePluginService,
  registrationService,
  type ListAndWatchResponse,
  type RegisterRequest,
} from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { registrationService as pluginRegistrationService } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { encodeRetryInfo, STATUS_DETAILS_KEY } from '../../../src/platform/wire/retry-info.js';
import type { WireMethod } from '../../../src/platform/wire/method.js';
import type { Decoded, Fields, Given, Message } from '../../../src/platform/wire/table.js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';

/** A refusal of the registry. */
export interface TestRefusal {
  readonly code: status;
  readonly details: string;
  readonly retryAfterMs?: number;
}

/** A list stream as the registry sees it. */
export interface SeenStream {
  readonly lists: Message<typeof ListAndWatchResponse>[];
  /** Code and details once it ended. */
  ended: { readonly code: number; readonly details: string } | undefined;
  pause(): void;
  resume(): void;
  cancel(): void;
}

/** The smallest registry there is: it notes Register calls and answers as it was told. */
export class TestRegistry {
  readonly requests: RegisterRequest[] = [];
  /** Answers calls: undefined accepts. */
  verdict: (nth: number) => TestRefusal | undefined = () => undefined;
  readonly #socket: string;
  readonly #clients: Client[] = [];
  #server: PluginServer | undefined;

  constructor(socket: string) {
    this.#socket = socket;
  }

  /** Serves on kubelet.sock in a directory. */
  static async start(dir: string): Promise<TestRegistry> {
    const registry = new TestRegistry(path.join(dir, 'kubelet.sock'));
    await registry.serve();
    return registry;
  }

  /** Puts a new kubelet.sock into place. */
  async serve(): Promise<void> {
    const before = this.#server;
    this.#server = await PluginServer.listen(this.#socket, (server) => {
      const Register = (call: ServerUnaryCall<RegisterRequest, object>, reply: sendUnaryData<object>): void => {
        this.requests.push(call.request);
        const refusal = this.verdict(this.requests.length);
        if (refusal === undefined) return reply(null, {});
        const { code, details, retryAfterMs } = refusal;
        const metadata = new Metadata();
        if (retryAfterMs !== undefined) metadata.set(STATUS_DETAILS_KEY, encodeRetryInfo(code, details, retryAfterMs));
        reply({ code, details, metadata });
      };
      server.addService(registrationService, { Register });
    });
    await before?.close();
  }

  /** Open connections of plugins. */
  get connections(): number {
    return this.#server?.connections ?? 0;
  }

  /** Stops, and removes kubelet.sock. */
  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    await this.#server?.close();
  }

  /** Calls a plugin. */
  ask<Q extends Fields, A extends Fields>(
    socket: string,
    method: WireMethod<Q, A>,
    request: Given<Q>,
    limitMs = 5_000,
  ): Promise<Decoded<A>> {
    const client = this.#dial(socket);
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        { deadline: Date.now() + limitMs },
        (failure, answer) => {
          if (answer === undefined) reject(failure ?? new Error('no answer'));
          else resolve(answer);
        },
      );
    });
  }

  /** Says how a registration at the watcher door went. */
  async notify(socket: string, error = ''): Promise<void> {
    const status = { pluginRegistered: error === '', error };
    await this.ask(socket, pluginRegistrationService.NotifyRegistrationStatus, status);
  }

  /** Opens a list stream. */
  watch(socket: string): SeenStream {
    const { path: method, requestSerialize, responseDeserialize } = devicePluginService.ListAndWatch;
    const call = this.#dial(socket).makeServerStreamRequest(method, requestSerialize, responseDeserialize, {});
    const seen: SeenStream = {
      lists: [],
      ended: undefined,
      pause: () => call.pause(),
      resume: () => call.resume(),
      cancel: () => call.cancel(),
    };
    call.on('data', (list: Message<typeof ListAndWatchResponse>) => seen.lists.push(list));
    call.on('error', () => undefined);
    call.on('status', ({ code, details }) => (seen.ended = { code, details }));
    return seen;
  }

  #dial(socket: string): Client {
    const options = { 'grpc.use_local_subchannel_pool': 1, 'grpc.max_receive_message_length': -1 };
    const client = new Client(`unix:${socket}`, credentials.createInsecure(), options);
    this.#clients.push(client);
    return client;
  }
}
