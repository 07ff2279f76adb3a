import { createConnection } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import { adminService } from '../../../src/generated/proto/pluginbroker/v1/admin.js';

/** One resource as a poller sees it. */
export interface Seen {
  readonly capacity: number;
  readonly allocatable: number;
  readonly state: string;
}

/** Reads resources over one connection that stays open, so that looking costs the broker as little as may be. */
export class AdminPoll {
  readonly #client: Client;

  constructor(brokerSocket: string) {
    this.#client = new Client(`unix:${brokerSocket}`, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_channelz': 0,
      'grpc.enable_retries': 0,
    });
  }

  /** All resources, or the one of a name, if there is one. @throws ServiceError */
  resources(name = ''): Promise<Map<string, Seen>> {
    const { path, requestSerialize, responseDeserialize } = adminService.ListResources;
    return new Promise((resolve, reject) => {
      const seen = new Map<string, Seen>();
      const call = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {
        name,
        omitDevices: true,
      });
      call.on('data', ({ resources }: { resources: readonly (Seen & { readonly name: string })[] }) => {
        for (const { name: resource, capacity, allocatable, state } of resources) {
          seen.set(resource, { capacity, allocatable, state });
        }
      });
      call.on('error', (failure: ServiceError) => {
        // Nothing of that name is an answer, too.
        if (failure.code === status.NOT_FOUND) resolve(seen);
        else reject(failure);
      });
      call.on('end', () => resolve(seen));
    });
  }

  close(): void {
    this.#client.close();
  }
}

/** Resolves when somebody accepts connections at a path; looks every millisecond. */
export async function accepts(socketPath: string, signal: AbortSignal): Promise<void> {
  while (!(await tried(socketPath))) {
    signal.throwIfAborted();
    await pause(1);
  }
}

function tried(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
