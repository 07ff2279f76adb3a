import { Client, credentials } from '@grpc/grpc-js';
import { podResourcesListerService } from '../../src/generated/proto/podresources/v1/podresources.js';
import type { WireMethod } from '../../src/platform/wire/method.js';
import type { Decoded, Fields, Given } from '../../src/platform/wire/table.js';

const { List, Get, GetAllocatableResources } = podResourcesListerService;

/** Asks who has which devices. */
export class PodResourcesCaller {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
  }

  list(): Promise<ReturnType<typeof List.responseDeserialize>> {
    return this.#ask(List, {});
  }

  allocatable(): Promise<ReturnType<typeof GetAllocatableResources.responseDeserialize>> {
    return this.#ask(GetAllocatableResources, {});
  }

  get(podNamespace: string, podName: string): Promise<ReturnType<typeof Get.responseDeserialize>> {
    return this.#ask(Get, { podNamespace, podName });
  }

  close(): void {
    this.#client.close();
  }

  #ask<Q extends Fields, A extends Fields>(method: WireMethod<Q, A>, request: Given<Q>): Promise<Decoded<A>> {
    const { path, requestSerialize, responseDeserialize } = method;
    return new Promise((resolve, reject) => {
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (failure, answer) =>
        failure === null && answer !== undefined ? resolve(answer) : reject(failure as Error),
      );
    });
  }
}
