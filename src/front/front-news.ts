// The front's reports to operators: each state of a resource towards the kubelet, and whether the kubelet says which pod has
// which devices.
import type { Log } from '../kernel/log.js';
import type { EventSink } from '../model/event.js';
import type { FrontView } from '../model/front.js';
import { DEVICE_PLUGIN, pluginKey } from '../model/ids.js';

/** Tells, by events and log. */
export class FrontNews {
  readonly #events: EventSink;
  readonly #log: Log;
  #isOwnersUnknown = false;
  #isUnconfirmed = false;

  constructor(events: EventSink, log: Log) {
    this.#events = events;
    this.#log = log;
  }

  /** A resource has another state. @param uid of its plugin, which may change it as often as it likes: its lines have a share */
  readonly resourceChanged = (resource: string, { state, reason }: FrontView, uid: number | undefined): void => {
    const message = `${resource} towards the kubelet: ${state}${reason === '' ? '' : `, ${reason}`}`;
    this.#events.record({ type: 'front', plugin: pluginKey({ type: DEVICE_PLUGIN, name: resource }), uid, message });
    const isBad = state === 'refused' || state === 'too-large';
    if (isBad) this.#log.warn('front.state', message, { resource, state, uid });
    else this.#log.info('front.state', message, { resource, state, uid });
  };

  /** A connection of the kubelet was over its budget. @param uid of the resource's plugin */
  readonly connectionEnded = (
    resource: string,
    uid: number | undefined,
    { code, message }: { code: string; message: string },
  ): void => {
    const sentence = `a connection of the kubelet to ${resource} was ended: ${message}`;
    this.#log.warn('front.connection-ended', sentence, { code, resource, uid });
  };

  /** kubelet.sock of the kubelet cannot be watched; undefined when it can be again. */
  readonly unwatched = (why: string | undefined): void => {
    if (why !== undefined) this.#log.warn('front.unwatched', why);
  };

  /** The kubelet was asked for the owners. Only a change of whether it answers is reported. */
  readonly ownersAsked = (problem: string | undefined): void => {
    if ((problem !== undefined) === this.#isOwnersUnknown) return;
    this.#isOwnersUnknown = problem !== undefined;
    if (problem === undefined) this.#log.info('front.owners', 'the kubelet says which pods have which devices');
    else this.#log.warn('front.owners', `the kubelet does not say which pods have which devices: ${problem}`);
  };

  /** The kubelet was asked whether a pod still has a device. Only a change of whether it says so is reported. */
  readonly ownerConfirmed = (problem: string | undefined): void => {
    if ((problem !== undefined) === this.#isUnconfirmed) return;
    this.#isUnconfirmed = problem !== undefined;
    if (problem === undefined)
      this.#log.info('front.owners', 'the kubelet says again whether a pod still has a device');
    else {
      const message = `a device that a pod may still have was given again, because the kubelet does not answer Get of PodResources: ${problem}`;
      this.#log.warn('front.owners', message);
    }
  };

  /** The kubelet gave one device to two pods. */
  readonly usedTwice = (resource: string, message: string): void => {
    this.#events.record({ type: 'front', message, facts: { resource, pods: 2 } });
    this.#log.warn('front.used-twice', message, { resource });
  };
}
