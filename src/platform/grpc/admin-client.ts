// Calls the admin API over the admin socket. The tables of the wire codec stand in the place of a .proto file, so that a
// command needs no file beside it and is at work sooner.
import { Client, credentials } from '@grpc/grpc-js';
import type { Clock } from '../../kernel/clock.js';
import type { BrokerEvent } from '../../model/event.js';
import type { PluginId } from '../../model/ids.js';
import type {
  ExplainView,
  LimitView,
  PluginView,
  RefusedView,
  ReloadView,
  ResourceView,
  StatusView,
} from '../../model/views.js';
import { adminService } from '../../generated/proto/pluginbroker/v1/admin.js';
import type { WireMethod } from '../wire/method.js';
import type { Decoded, Fields, Given } from '../wire/table.js';
import { AdminFailure, Unreachable } from './admin-failure.js';
import { ResourceJoiner } from './admin-pages.js';
import { LocalCalls } from './local-calls.js';
import {
  brokerView,
  checkpointView,
  eventView,
  ledgerView,
  pluginView,
  policyView,
  resourcePart,
} from './admin-views.js';

/** Longest time of a call that does not follow; listing 200,000 devices takes well under a second. */
const CALL_MS = 15_000;
/** Answers are local and paged; this only has to be larger than any page. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const OPTIONS = {
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
};

/**
 * The admin API as a program calls it. Reads are tried a second time when the connection was lost: a successor may be taking over.
 *
 * @throws Unreachable when there is no broker at the socket
 * @throws AdminFailure when the broker said no
 */
export class AdminClient {
  readonly #calls: LocalCalls;
  readonly #signal: AbortSignal;

  /**
   * @param socket absolute path of the admin socket
   * @param signal ends all calls
   */
  constructor(socket: string, clock: Clock, signal: AbortSignal) {
    this.#calls = new LocalCalls({
      socket,
      clock,
      open: (address) => new Client(address, credentials.createInsecure(), OPTIONS),
      refused: (code, details) => new AdminFailure(code, details),
    });
    this.#signal = signal;
  }

  /** The whole picture; `omitDevices` leaves the devices of the resources out. */
  status(omitDevices: boolean): Promise<StatusView> {
    return this.#twice(async () => {
      const plugins: PluginView[] = [];
      const resources = new ResourceJoiner();
      const refused: RefusedView[] = [];
      let head: Pick<StatusView, 'broker' | 'checkpoint' | 'policy' | 'ledger'> | undefined;
      for await (const part of this.#stream(adminService.Status, { omitDevices })) {
        head ??= {
          broker: brokerView(part.broker),
          checkpoint: checkpointView(part.checkpoint),
          policy: policyView(part.policy),
          ledger: ledgerView(part.ledger),
        };
        for (const plugin of part.plugins) plugins.push(pluginView(plugin));
        for (const resource of part.resources) resources.add(resourcePart(resource));
        refused.push(...part.refused);
      }
      if (head === undefined) throw new AdminFailure('INTERNAL', 'the broker answered with nothing');
      return { ...head, plugins, resources: resources.resources(), refused };
    });
  }

  /** Plugins of a name, all when it is empty. */
  plugins(name: string): Promise<readonly PluginView[]> {
    return this.#twice(async () => {
      const plugins: PluginView[] = [];
      for await (const page of this.#stream(adminService.ListPlugins, { name })) {
        for (const plugin of page.plugins) plugins.push(pluginView(plugin));
      }
      return plugins;
    });
  }

  /** Resources of a name, all when it is empty. */
  resources(name: string, omitDevices: boolean): Promise<readonly ResourceView[]> {
    return this.#twice(async () => {
      const joined = new ResourceJoiner();
      for await (const page of this.#stream(adminService.ListResources, { name, omitDevices })) {
        for (const resource of page.resources) joined.add(resourcePart(resource));
      }
      return joined.resources();
    });
  }

  /** Buckets of a plugin, all when the name is empty. */
  limits(name: string): Promise<readonly LimitView[]> {
    return this.#twice(async () => {
      const limits: LimitView[] = [];
      for await (const page of this.#stream(adminService.ListLimits, { name })) limits.push(...page.limits);
      return limits;
    });
  }

  /** Events with number `since` or later, oldest first; with `follow` until the signal aborts or the broker goes away. */
  async *events(since: number, plugin: string, follow: boolean): AsyncGenerator<BrokerEvent> {
    const query = { since, plugin, follow };
    for await (const event of this.#stream(adminService.Events, query, follow ? Infinity : CALL_MS)) {
      yield eventView(event);
    }
  }

  /** The facts about a plugin or a socket. */
  explain(subject: string, type: string): Promise<ExplainView> {
    return this.#twice(async () => {
      const reply = await this.#call(adminService.Explain, { subject, type });
      return { ...reply, plugins: reply.plugins.map(pluginView), events: reply.events.map(eventView) };
    });
  }

  /** Lifts a quarantine. An empty type means any, here and below. @returns the effect, in one sentence; so do the next two */
  async pardon(meant: PluginId): Promise<string> {
    return (await this.#call(adminService.Pardon, meant)).message;
  }

  /** Closes the incarnations of a plugin and keeps them out. */
  async deregister(meant: PluginId & { readonly force?: boolean }): Promise<string> {
    return (await this.#call(adminService.Deregister, meant)).message;
  }

  /** Ends the states stale and unknown of the ledger. */
  async resetLedger(): Promise<string> {
    return (await this.#call(adminService.ResetLedger, {})).message;
  }

  /** Makes the broker read its config file again. */
  async reload(): Promise<ReloadView> {
    const reply = await this.#call(adminService.Reload, {});
    return { ...reply, outcome: reply.outcome as ReloadView['outcome'] };
  }

  /** Drops the entries of a lost plugin. */
  async forget(meant: PluginId & { readonly force?: boolean }): Promise<string> {
    return (await this.#call(adminService.Forget, meant)).message;
  }

  async #twice<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (thrown) {
      if (!(thrown instanceof Unreachable) || !thrown.connectionLost) throw thrown;
      return read();
    }
  }

  #stream<Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    request: Given<Q>,
    limitMs = CALL_MS,
  ): AsyncGenerator<Decoded<A>> {
    return this.#calls.many(method, request, limitMs, this.#signal);
  }

  #call<Q extends Fields, A extends Fields>(method: WireMethod<Q, A>, request: Given<Q>): Promise<Decoded<A>> {
    return this.#calls.one(method, request, CALL_MS, this.#signal);
  }
}
