// The page's rows for things that other views do not have: where the broker is, and leases in one line.
import path from 'node:path';
import { isLoopback } from '../model/http.js';
import type { Lease } from '../model/lease.js';
import type { LeaseRow, PagePlace } from '../model/page-views.js';
import { defaultRoot } from '../model/root.js';
import type { Settings } from '../model/settings.js';
import { timeText } from '../model/views.js';

/** Where the broker is. Its address is empty where every command finds it by itself. */
export function placeOf({ paths, http }: Settings, hostName: string): PagePlace {
  const usual = path.join(defaultRoot({ uid: 0, home: '', xdgStateHome: undefined }), 'broker.sock');
  return {
    host: hostName,
    root: paths.root,
    state: paths.state,
    address: paths.brokerSocket === usual ? '' : paths.brokerSocket,
    devicePlugins: paths.devicePlugins,
    registry: paths.pluginsRegistry,
    isOpen: !isLoopback(http.listen?.host ?? ''),
  };
}

/** One lease. */
export function leaseRow({ id, state, reason, owner, granted, createdAt, expiresAt }: Lease): LeaseRow {
  return {
    key: id,
    state,
    reason: reason ?? '',
    owner: owner.bind,
    devices: granted.map(({ resource, devices }) => ({ resource, count: devices.length })),
    since: timeText(createdAt),
    expires: timeText(expiresAt ?? 0),
  };
}
