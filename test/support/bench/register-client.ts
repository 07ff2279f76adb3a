import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { DEVICE_PLUGIN_VERSION } from '../../../src/model/ids.js';
import { registrationService } from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { now } from './rows.js';

/** How one call ended. */
export interface Answered {
  /** When, on the machine's clock. */
  readonly at: number;
  /** gRPC status number; 0 is in. */
  readonly code: number;
}

/** Calls Register over one connection that stays open. */
export class RegisterClient {
  readonly #client: Client;

  constructor(kubeletSocket: string) {
    this.#client = new Client(`unix:${kubeletSocket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      'grpc.enable_retries': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 200,
    });
  }

  /** One call. Never rejects. */
  register(resourceName: string, endpoint: string, version: string = DEVICE_PLUGIN_VERSION): Promise<Answered> {
    const { Register } = registrationService;
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        Register.path,
        Register.requestSerialize,
        Register.responseDeserialize,
        { version, endpoint, resourceName },
        { deadline: Date.now() + 30_000 },
        (failure: ServiceError | null) => resolve({ at: now(), code: failure?.code ?? 0 }),
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}
