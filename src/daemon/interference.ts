// How a program that tests plugins stands between the core and its neighbours. The broker itself never does.
import type { ListListener } from '../model/device-list.js';
import type { EventSink } from '../model/event.js';
import type { RosterListener } from '../model/instance.js';
import type { Core, CorePorts } from './core.js';

/** Disturbs the core's requests, and hears of all changes. FaultPort (faults/fault-port) does, for `verify` alone. */
export interface Interference extends RosterListener, ListListener {
  /** Stands before everything that the core asks of its neighbours. */
  disturb(ports: CorePorts): CorePorts;
  /** Hears of events, too. */
  events(inner: EventSink): EventSink;
  /** Tells of the plugins of this core from now on. */
  follow(core: Core): void;
}
