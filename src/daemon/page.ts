// The status page on a running daemon: it shows the answers of the commands and the events of the journal.
import { AdminService } from '../admin/admin-service.js';
import { explain } from '../admin/explain.js';
import { floodFacts } from '../admin/operator-commands.js';
import { deviceView, eachPluginView, eachResourceView } from '../admin/plugin-views.js';
import { DecodedLists } from '../inventory/decoded-lists.js';
import type { Clock } from '../kernel/clock.js';
import type { Log } from '../kernel/log.js';
import type { Settings } from '../model/settings.js';
import { PageApi } from '../page/api.js';
import { Audience } from '../page/audience.js';
import { OVER_HTTP } from '../page/over-http.js';
import { Picture } from '../page/picture.js';
import type { PageSource } from '../page/ports.js';
import { leaseRow, placeOf } from '../page/rows.js';
import { PageDevices, troubledFirst, troubledFirstInTurns } from '../page/shown-devices.js';
import { pageFiles, pageNames } from '../platform/http/page-files.js';
import { pageRoutes } from '../platform/http/page-routes.js';
import type { Routes } from '../platform/http/router.js';
import { hostName } from '../platform/process/host-name.js';
import { nextTurn } from '../platform/time/next-turn.js';
import { slices } from '../platform/time/slices.js';
import { devicesInTurns, devicesOf } from '../platform/wire/list-decoder.js';
import type { Daemon } from './daemon.js';

/** The page's source in a daemon. */
function pageSource(daemon: Daemon, settings: Settings, clock: Clock): PageSource {
  const { port, journal } = daemon;
  const { core } = daemon.broker;
  const service = new AdminService(port);
  const devices = new PageDevices({
    // Apart from the lists that leases are given from: a reader of the page must not make allocations wait.
    lists: new DecodedLists({
      decode: (raw) => troubledFirst(devicesOf(raw)),
      decodeInTurns: async (raw) => troubledFirstInTurns(await devicesInTurns(raw), nextTurn),
      clock,
    }),
    listOf: (resource) => core.offered.of(resource)?.list?.raw,
    viewOf: (resource) => {
      const taken = port.use.takenOf(resource);
      return (device) => deviceView(device, taken);
    },
  });
  return {
    place: placeOf(settings, hostName()),
    seq: () => journal.seq,
    head: () => daemon.standing.head(),
    plugins: (only) => eachPluginView(core, floodFacts(daemon.flood), only),
    keptUntil: ({ type, name, socket }) => core.lifecycle.keptUntil(type, name, socket),
    resources: (only) => eachResourceView(core, port.use, only),
    devices: (resource) => devices.of(resource),
    limits: (only) => daemon.flood.eachLimit(only),
    leases: () => daemon.leases.allocations.leases().map(leaseRow),
    timeline: (plugin) => journal.lastOf(plugin),
    recent: () => journal.recent(),
    lives: () => journal.lives(),
    events: (query, signal) => service.events(query, signal),
    explain: (subject) => service.explain(subject, '', OVER_HTTP),
    why: explain,
  };
}

/** The page's addresses; `close` says goodbye to its followers. */
export function openPage(
  daemon: Daemon,
  settings: Settings,
  clock: Clock,
  log: Log,
): { readonly routes: Routes; readonly close: () => void } {
  const source = pageSource(daemon, settings, clock);
  const picture = new Picture({ source, clock, rest: slices() });
  const audience = new Audience({ source, clock, log, picture });
  const api = new PageApi({ source, picture });
  return {
    routes: pageRoutes({ api, audience, files: pageFiles, names: pageNames }),
    close: () => {
      audience.close();
      picture.close();
    },
  };
}
