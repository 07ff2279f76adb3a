import { Client, credentials } from '@grpc/grpc-js';
import { podResourcesListerService } from '../../src/generated/proto/podresources/v1/podresources.js';
import type { WireMethod } from '../../src/platform/wire/method.js';
import type { Decoded, Fields } from '../../src/platform/wire/table.js';

const { List, GetAllocatableResources } = podResourcesListerService;

/** Asks who has which devices. */
export class PodResourcesCaller {
  readonly #client: Client;

  constructor(socket: string) {
    this.#client = new Client(`unix:${socket}`, credentials.createInsecure());
  }

  list(): Promise<ReturnType<typeof List.responseDeserialize>> {
    return this.#ask(List);
  }

  allocatable(): Promise<ReturnType<typeof GetAllocatableResources.responseDeserialize>> {
    return this.#ask(GetAllocatableResources);
  }

  close(): void {
    this.#client.close();
  }

  #ask<A extends Fields>({ path, responseDeserialize }: WireMethod<Fields, A>): Promise<Decoded<A>> {
    return new Promise((resolve, reject) => {
      const nothing = (): Buffer => Buffer.alloc(0);
      this.#client.makeUnaryRequest(path, nothing, responseDeserialize, {}, (failure, answer) =>
        failure === null && answer !== undefined ? resolve(answer) : reject(failure as Error),
      );
    });
  }
}
