// Where node facts are published: the API server, or a file.
import path from 'node:path';
import type { NodeFactsTarget } from '../../csi/node-facts-target.js';
import type { Clock } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import type { Settings } from '../../model/settings.js';
import { ApiClient } from './api-client.js';
import { ApiTarget } from './api-target.js';
import { FileTarget } from './file-target.js';
import { Ledger } from './ledger.js';

/** The target that the settings name (`csi.publish`). */
export function nodeFactsTarget({ csi, paths }: Settings, clock: Clock, log: Log): NodeFactsTarget {
  const { nodeName, kubeconfig } = csi;
  if (csi.publish === 'file') return new FileTarget({ file: path.join(paths.state, 'csinode.json'), nodeName, clock });
  return new ApiTarget({
    client: new ApiClient({ kubeconfig, clock }),
    ledger: new Ledger(path.join(paths.state, 'csi-published.json'), nodeName),
    nodeName,
    clock,
    log,
  });
}
