import path from 'node:path';
import { Client, credentials } from '@grpc/grpc-js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { namesOf } from '../../src/platform/kubelet/front-paths.js';

/** Path of the socket that the broker registers with a kubelet for a resource. */
export const frontSocket = (kubeletRoot: string, resource: string): string =>
  path.join(kubeletRoot, 'device-plugins', 'plugin-broker', namesOf(resource).socket);

/** Calls the socket of a device plugin, as a kubelet does. */
export class AllocateCaller {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
  }

  /** Allocate for one container. Rejects with the status and the words of the plugin. */
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
