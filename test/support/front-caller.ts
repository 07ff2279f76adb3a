import path from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { namesOf } from '../../src/platform/kubelet/front-paths.js';

/** Calls the socket that the broker registered with a kubelet. */
export class RegistrationCaller {
  readonly #client: Client;

  constructor(kubeletRoot: string, resource: string) {
    const socket = path.join(kubeletRoot, 'device-plugins', 'plugin-broker', namesOf(resource).socket);
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
  }

  /** Allocate for one container. Rejects with the status and the words of the broker. */
  allocate(ids: readonly string[]): Promise<unknown> {
    const { path: method, requestSerialize, responseDeserialize } = devicePluginService.Allocate;
    const request = { containerRequests: [{ devicesIds: [...ids] }] };
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(method, requestSerialize, responseDeserialize, request, (failure, answer) =>
        failure === null ? resolve(answer) : reject(failure),
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}
