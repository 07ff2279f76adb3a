// The handlers of CSI and DRA drivers, with what they need of the network and of the disk.
import path from 'node:path';
import { CsiHandler } from '../csi/csi-handler.js';
import { NodeInfoPublisher } from '../csi/node-info-publisher.js';
import { DraHandler } from '../dra/dra-handler.js';
import { sleep, type Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Random } from '../kernel/random.js';
import { CSI_PLUGIN } from '../model/ids.js';
import type { PluginHandler } from '../model/plugin.js';
import type { Settings } from '../model/settings.js';
import { pinSocket } from '../platform/fs/socket-pin.js';
import { csiNodeClients } from '../platform/grpc/csi-node-client.js';
import { draConnections } from '../platform/grpc/dra-connection.js';
import type { Guarding } from '../platform/grpc/owned-sockets.js';
import { ApiClient } from '../platform/kubernetes/api-client.js';
import { ApiTarget } from '../platform/kubernetes/api-target.js';
import { FileTarget } from '../platform/kubernetes/file-target.js';
import { Ledger } from '../platform/kubernetes/ledger.js';
import type { Core } from './core.js';

/** What is being published may take this long to come to an end. */
const STOP_MS = 300;

/** What they are given. */
export interface DriverPorts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly guarding: Guarding;
}

/** Both handlers and their life. */
export class Drivers {
  readonly #clock: Clock;
  readonly handlers: readonly PluginHandler[];
  readonly #csi: CsiHandler;
  readonly #publisher: NodeInfoPublisher;

  constructor({ settings, clock, random, log, guarding }: DriverPorts) {
    this.#clock = clock;
    const { csi, paths, timeouts } = settings;
    const { nodeName } = csi;
    const target =
      csi.publish === 'file'
        ? new FileTarget({ file: path.join(paths.state, 'csinode.json'), nodeName, clock })
        : new ApiTarget({
            client: new ApiClient({ kubeconfig: csi.kubeconfig, clock }),
            ledger: new Ledger(path.join(paths.state, 'csi-published.json'), nodeName),
            nodeName,
            log,
          });
    this.#publisher = new NodeInfoPublisher({ target, clock, random, log });
    const connections = { clock, random, pin: pinSocket, guarding };
    this.#csi = new CsiHandler({
      publisher: this.#publisher,
      openClient: csiNodeClients(connections),
      clock,
      random,
      nodeGetInfoMs: () => timeouts.nodeGetInfoMs,
    });
    this.handlers = [this.#csi, new DraHandler({ openConnection: draConnections(connections), clock })];
  }

  /** Drivers of the checkpoint stay published until their sockets are known to be gone. */
  restore(core: Core): void {
    for (const { id, type, name, version, facts, state } of core.roster.all()) {
      if (type !== CSI_PLUGIN || state !== 'restored') continue;
      this.#csi.restore(
        name,
        { version, facts },
        {
          id,
          report: (report) => core.lifecycle.report(id, report),
          serving: () => core.lifecycle.serving(id),
        },
      );
    }
  }

  /** Everything that was known at the start is known now: what is public beyond it is taken back. */
  settle(): void {
    this.#publisher.settle();
  }

  /** Closes connections; what is published stays, and a file that is being written may hang on its disk. */
  stop(): Promise<void> {
    return Promise.race([this.#csi.stop(), sleep(this.#clock, STOP_MS)]);
  }
}
