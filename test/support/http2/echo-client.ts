import { Client, credentials } from '@grpc/grpc-js';
import { echoService } from './echo-server.js';

/** A real grpc-js client of the echo service. */
export class EchoClient {
  readonly #client: Client;

  /** @param authority sent in place of what grpc-js sends for unix sockets */
  constructor(path: string, authority?: string) {
    this.#client = new Client(`unix:${path}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      ...(authority === undefined ? {} : { 'grpc.default_authority': authority }),
    });
  }

  /** One call; rejects with the status. */
  unary(payload: Buffer, deadlineMs = 10_000): Promise<Buffer> {
    const { path, requestSerialize, responseDeserialize } = echoService.unary;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        payload,
        { deadline: Date.now() + deadlineMs },
        (error, answer) => {
          if (error === null) resolve(answer ?? Buffer.alloc(0));
          else reject(error);
        },
      );
    });
  }

  /** Octets of an answer of so many KiB. */
  async flow(kib: number): Promise<number> {
    const { path, requestSerialize, responseDeserialize } = echoService.flow;
    const stream = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, Buffer.alloc(kib));
    let octets = 0;
    for await (const piece of stream as AsyncIterable<Buffer>) octets += piece.length;
    return octets;
  }

  close(): void {
    this.#client.close();
  }
}
