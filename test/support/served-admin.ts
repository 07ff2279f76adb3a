import { Server, ServerCredentials } from '@grpc/grpc-js';
import { AdminService } from '../../src/admin/admin-service.js';
import type { AdminPort } from '../../src/admin/admin-port.js';
import type { Log } from '../../src/kernel/log.js';
import { silentLog } from './silence.js';
import { servedAdmin } from '../../src/platform/grpc/admin-server.js';

/** A running admin API. */
export interface ServedAdminApi {
  /** Ends it as a killed daemon does: connections are cut. */
  cut(): void;
}

/** Serves a port on a socket, as the daemon does. */
export async function serveAdmin(socket: string, port: AdminPort, log: Log = silentLog): Promise<ServedAdminApi> {
  const server = new Server();
  const { definition, handlers } = servedAdmin(new AdminService(port), log);
  server.addService(definition, handlers);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), (failure) => {
      if (failure === null) resolve();
      else reject(failure);
    });
  });
  return { cut: () => server.forceShutdown() };
}
