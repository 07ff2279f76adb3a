import { Client, connectivityState, credentials, type ServiceError } from '@grpc/grpc-js';
import { DEVICE_PLUGIN_VERSION } from '../../src/model/ids.js';
import { registrationService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { eventually } from './eventually.js';

const { Register } = registrationService;

/** Calls Register over one connection, which it does not open a second time. */
export class RegisterCaller {
  readonly #client: Client;
  readonly #resourceName: string;
  readonly #endpoint: string;

  constructor(kubeletSocket: string, resourceName: string, endpoint: string) {
    this.#client = new Client(`unix:${kubeletSocket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 60_000,
      'grpc.enable_retries': 0,
    });
    this.#resourceName = resourceName;
    this.#endpoint = endpoint;
  }

  /** How one call ended: undefined when the plugin is in. */
  call(): Promise<ServiceError | undefined> {
    const request = { version: DEVICE_PLUGIN_VERSION, endpoint: this.#endpoint, resourceName: this.#resourceName };
    const { path, requestSerialize, responseDeserialize } = Register;
    return new Promise((resolve) => {
      const answered = (failure: ServiceError | null): void => resolve(failure ?? undefined);
      const options = { deadline: Date.now() + 20_000 };
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, options, answered);
    });
  }

  /** Whether its connection is open. */
  get isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** Waits until its connection was closed. */
  async lost(): Promise<void> {
    await eventually('the connection is closed', () => !this.isConnected);
  }

  close(): void {
    this.#client.close();
  }
}
