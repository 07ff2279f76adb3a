// The handlers of CSI and DRA drivers, with their ports to the network and the disk.
import { CsiHandler } from '../csi/csi-handler.js';
import { NodeInfoPublisher } from '../csi/node-info-publisher.js';
import { DraHandler } from '../dra/dra-handler.js';
import type { Surroundings } from '../kernel/surroundings.js';
import { CSI_PLUGIN } from '../model/ids.js';
import { isOfTrusted } from '../model/instance.js';
import type { PluginHandler } from '../model/plugin.js';
import type { Settings } from '../model/settings.js';
import type { SocketPaths } from '../platform/fs/socket-paths.js';
import { csiNodeClients } from '../platform/grpc/csi-node-client.js';
import { draConnections } from '../platform/grpc/dra-connection.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { nodeFactsTarget } from '../platform/kubernetes/node-facts-target.js';
import type { Core } from './core.js';

/** Their ports. */
export interface DriverPorts extends Omit<Surroundings, 'metrics'> {
  readonly settings: Settings;
  readonly guarding: Guarding;
  readonly pin: SocketPaths['pin'];
  readonly ownUid: number;
}

/** Both handlers and their life. */
export class Drivers {
  readonly handlers: readonly PluginHandler[];
  readonly #csi: CsiHandler;
  readonly #publisher: NodeInfoPublisher;
  /** Known before any driver is. */
  #roster: Core['roster'] | undefined;

  constructor({ settings, clock, random, log, guarding, pin, ownUid }: DriverPorts) {
    const target = nodeFactsTarget(settings, clock, log);
    this.#publisher = new NodeInfoPublisher({
      ...{ target, clock, random, log },
      goesFirst: (driver) => isOfTrusted(this.#roster?.ofPlugin(CSI_PLUGIN, driver) ?? [], ownUid),
    });
    const connections = { clock, random, pin, guarding };
    this.#csi = new CsiHandler({
      publisher: this.#publisher,
      openClient: csiNodeClients(connections),
      clock,
      random,
      nodeGetInfoMs: settings.timeouts.nodeGetInfoMs,
    });
    this.handlers = [this.#csi, new DraHandler({ openConnection: draConnections(connections), clock })];
  }

  /** Drivers of the checkpoint stay published until their sockets are known to be gone. */
  restore({ roster, reports }: Core): void {
    this.#roster = roster;
    this.#csi.restoreAll(roster.all(), reports);
  }

  /** All drivers of the start are known now: publications of others are taken back. */
  settle(): void {
    this.#publisher.settle();
  }

  /** Closes connections; publications stay, and a file that is being written may hang on its disk. */
  stop(): Promise<void> {
    return this.#csi.stop();
  }
}
