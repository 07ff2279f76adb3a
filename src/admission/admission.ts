// May it come in? Both doors and every pull end here; the checks run in a fixed order and the first refusal wins.
import { sleep, type Clock } from '../kernel/clock.js';
import { fitsWritten } from '../kernel/written.js';
import type { PinnedSocket, PluginHandler, RegistrationRequest } from '../model/plugin.js';
import { mayNotConnect } from '../model/not-permitted.js';
import type { Refusal } from '../model/reasons.js';
import type { PluginPolicy } from '../model/settings.js';
import { checkCaller, checkOwner } from './caller.js';
import { checkCaps } from './caps.js';
import { Duplicates, type Newcomer } from './duplicates.js';
import { checkMeant, checkRoots, endpointPath, pinRefusal } from './endpoint.js';
import type { AdmissionPolicy, SocketPort } from './ports.js';
import type { RegistrationLimits, FloodSubject } from '../model/flood.js';
import { type Listener, callerBehind, incarnationKey, isOwnShortage } from '../model/ids.js';
import type { Admitted, AdmissionVerdict, Admitter, NameClaims } from '../model/registration.js';

/** Plugins that register a moment before they serve are given this long to do so. */
const SERVE_WITHIN_MS = 1000;
/**
 * When a socket that is not there yet, or not listening yet, is looked at again: soon at first, because most are a moment
 * late, and then ever more seldom, because each look takes time from everybody.
 */
const LOOK_AGAIN_MS = 20;
/** Each pause is this part of the time waited so far. */
const LATER = 1 / 4;
/** Names longer than this are cut before they are shown or counted. */
const MAX_NAME = 512;
/**
 * Bytes of all versions that a plugin offers, joined, as JSON writes them: the checkpoint keeps them, and plugins offer one to
 * three.
 */
const MAX_VERSIONS_BYTES = 1024;

/** The ports of admission. */
export interface AdmissionPorts {
  readonly flood: RegistrationLimits;
  readonly sockets: SocketPort;
  readonly roster: NameClaims;
  readonly policy: AdmissionPolicy;
  readonly clock: Clock;
  /** Uid of the broker, and its pid, so that it never dials itself. */
  readonly self: { readonly uid: number; readonly pid: number };
}

/** An endpoint and the process behind it. */
interface Reached {
  readonly endpoint: PinnedSocket;
  readonly listener: Exclude<Listener, { error: string }>;
}

/** A request whose endpoint was reached, with the facts that its checks need. */
interface Candidate extends Reached {
  readonly request: RegistrationRequest;
  /** The socket that registers. */
  readonly socket: PinnedSocket;
  readonly plugin: PluginPolicy;
  readonly newcomer: Newcomer;
}

/** When it is worth asking again after the broker had no descriptor or memory left. */
const SHORTAGE_PASSES_MS = 1000;

/** Refusals that a plugin gets when it registers a moment too early, or while its registration socket takes another name. */
const MAY_CHANGE = new Set(['ENDPOINT_MISSING', 'NO_LISTENER', 'NOT_PERMITTED', 'NO_ANSWER', 'SOCKET_SWAPPED']);

const refuse = (refusal: Refusal): AdmissionVerdict => ({ admitted: false, refusal });

/** The one admission. */
export class Admission implements Admitter {
  readonly #ports: AdmissionPorts;
  readonly #duplicates: Duplicates;

  constructor(ports: AdmissionPorts) {
    this.#ports = ports;
    this.#duplicates = new Duplicates(ports.roster, ports.self.uid);
  }

  /**
   * Checks a request in this order: quarantine, flood, name (a wrong one waits for no turn), version, endpoint, caller,
   * duplicates, caps.
   *
   * @param handler of the request's type, for its name and version rules and to ask the incumbent
   */
  async admit(
    request: RegistrationRequest,
    handler: PluginHandler | undefined,
    signal: AbortSignal,
  ): Promise<AdmissionVerdict> {
    const invalid = this.#checkName(request, handler);
    const full = endpointPath(request, this.#ports.policy.settings.paths);
    const subject = this.#subject(request, full, invalid);
    const kept = await this.#takeTurn(subject, invalid, signal);
    if (kept !== undefined) return refuse(kept);
    if (typeof full !== 'string') return refuse(full);
    const reached = await this.#endpoint(request, full, signal);
    if ('code' in reached) return refuse(reached);
    let verdict: AdmissionVerdict | undefined;
    try {
      const candidate = this.#candidate(request, handler, reached);
      const wrong = await this.#check(candidate, signal);
      // A caller that gave up has released its socket.
      signal.throwIfAborted();
      verdict = wrong === undefined ? this.#admitted(candidate, subject) : refuse(wrong);
      return verdict;
    } finally {
      if (verdict?.admitted !== true) reached.endpoint.release();
    }
  }

  /** Counts a call, and waits for its turn. A wrong name is counted, but not made to wait; a wrong version is. */
  async #takeTurn(
    subject: FloodSubject,
    invalid: Refusal | undefined,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const { flood } = this.#ports;
    const banned = flood.quarantined(subject);
    if (banned !== undefined) return banned;
    let turn = flood.registration(subject);
    if (turn.kind === 'refuse') return turn.refusal;
    if (invalid !== undefined && invalid.code !== 'VERSION_UNSUPPORTED') return invalid;
    while (turn.kind === 'delay') {
      turn = await turn.wait(signal);
      // Other callers may have brought the plugin into quarantine meanwhile.
      const bannedNow = flood.quarantined(subject);
      if (bannedNow !== undefined) return bannedNow;
      if (turn.kind === 'refuse') return turn.refusal;
    }
    return invalid;
  }

  #candidate(request: RegistrationRequest, handler: PluginHandler | undefined, reached: Reached): Candidate {
    const { type, name, caller } = request;
    const socket = request.socket ?? reached.endpoint;
    const plugin = this.#ports.policy.policyFor(type, name, socket.path);
    const uid = (caller ?? reached.listener).uid;
    const newcomer = { type, name, uid, socketKey: incarnationKey(socket.incarnation), plugin, handler };
    return { ...reached, request, socket, plugin, newcomer };
  }

  async #check(candidate: Candidate, signal: AbortSignal): Promise<Refusal | undefined> {
    const { request, listener, plugin, newcomer } = candidate;
    return (
      this.#checkIncarnation(candidate) ??
      checkCaller({
        name: request.name,
        callerUid: request.caller?.uid ?? request.presumedUid,
        listenerUid: listener.uid,
        allowUids: this.#ports.policy.admission.allowUids,
        ruleUids: plugin.uids,
        ownUid: this.#ports.self.uid,
      }) ??
      this.#checkOwner(candidate) ??
      (await this.#duplicates.check(newcomer, signal)) ??
      this.#checkCaps(candidate)
    );
  }

  #admitted(candidate: Candidate, subject: FloodSubject): Admitted {
    const { request, endpoint, socket, plugin, newcomer } = candidate;
    const listener = callerBehind(candidate.listener, request.caller);
    const recheck = (): Refusal | undefined =>
      this.#ports.flood.quarantined(subject) ??
      this.#checkIncarnation(candidate) ??
      this.#checkOwner(candidate) ??
      this.#duplicates.checkRejected(newcomer) ??
      this.#checkCaps(candidate);
    const sockets = { socket: socket.retain(), endpoint };
    return { admitted: true, ...sockets, caller: request.caller ?? listener, listener, policy: plugin, recheck };
  }

  /** As the plugin wrote it where that is no path. */
  whereIs(request: RegistrationRequest): string {
    const full = endpointPath(request, this.#ports.policy.settings.paths);
    return typeof full === 'string' ? full : request.endpoint;
  }

  #subject(request: RegistrationRequest, full: string | Refusal, invalid: Refusal | undefined): FloodSubject {
    // Rules match the real path, however it was spelled. One that cannot be resolved matches no rule by socket.
    const meant = request.socket?.path ?? full;
    const badName = invalid?.code === 'NAME_INVALID' || invalid?.code === 'TYPE_UNKNOWN';
    // A request that can never be admitted keeps nothing to pull: its strikes are in the checkpoint for as long as it calls.
    const mayPull = typeof full === 'string' && !badName && invalid?.code !== 'VERSION_UNSUPPORTED';
    return {
      type: request.type,
      name: request.name,
      uid: request.caller?.uid ?? this.#ports.self.uid,
      socket: typeof meant === 'string' ? meant : '',
      caller: request.caller,
      door: request.door,
      pulled: request.pulled,
      badName,
      ...(mayPull ? { endpoint: request.endpoint, versions: request.versions } : {}),
    };
  }

  #checkName(request: RegistrationRequest, handler: PluginHandler | undefined): Refusal | undefined {
    const shown = JSON.stringify(request.name.slice(0, 128));
    if (handler === undefined) {
      return {
        code: 'TYPE_UNKNOWN',
        message: `${shown}: the plugin type ${JSON.stringify(request.type.slice(0, 64))} is not served here`,
      };
    }
    if (request.name.length > MAX_NAME)
      return { code: 'NAME_INVALID', message: `the name ${shown}… has ${String(request.name.length)} characters` };
    const areRead = fitsWritten(request.versions.join(), MAX_VERSIONS_BYTES);
    const invalid = handler.validate(request.name, areRead ? request.versions : []);
    if (invalid?.code === 'NAME_INVALID') return invalid;
    if (!areRead) {
      const message = `${request.name}: the ${String(request.versions.length)} API versions that it offers are too long; ${String(MAX_VERSIONS_BYTES)} bytes of all together are read`;
      return { code: 'VERSION_UNSUPPORTED', message };
    }
    if (!this.#ports.policy.nameAllowed(request.name)) {
      return {
        code: 'NAME_DENIED',
        message: `${request.name}: the name is not allowed by admission.allowNames and admission.denyNames`,
      };
    }
    return invalid;
  }

  /** Pins the endpoint and finds the process that listens on it, giving a plugin that registered too early a moment to serve. */
  async #endpoint(request: RegistrationRequest, full: string, signal: AbortSignal): Promise<Reached | Refusal> {
    const { clock } = this.#ports;
    const begun = clock.mono();
    const longestMs = request.pulled ? 0 : SERVE_WITHIN_MS;
    for (;;) {
      const reached = this.#reach(request, full);
      const sinceMs = clock.mono() - begun;
      if (!('code' in reached) || !MAY_CHANGE.has(reached.code) || sinceMs >= longestMs) return reached;
      const pauseMs = Math.max(LOOK_AGAIN_MS, sinceMs * LATER);
      await sleep(clock, Math.min(pauseMs, longestMs - sinceMs), signal);
    }
  }

  #reach(request: RegistrationRequest, full: string): Reached | Refusal {
    const { sockets, policy, self } = this.#ports;
    const { name } = request;
    const astray = checkMeant(request, full, { paths: policy.settings.paths, sockets, ownUid: self.uid });
    if (astray !== undefined) return astray;
    const endpoint = sockets.pin(full);
    if ('problem' in endpoint) return pinRefusal(name, full, endpoint, self.uid);
    const found = checkRoots(request, endpoint, policy.settings.paths, sockets) ?? sockets.listenerOf(endpoint);
    if ('uid' in found && found.pid !== self.pid) return { endpoint, listener: found };
    endpoint.release();
    if ('code' in found) return found;
    if ('uid' in found) {
      return { code: 'ENDPOINT_INVALID', message: `${name}: the endpoint ${full} is the broker's own socket` };
    }
    if (isOwnShortage(found.error)) {
      const message = `${name}: the broker has nothing left to ask who listens on ${full} with (${found.error})`;
      return { code: 'BUSY', message, retryAfterMs: SHORTAGE_PASSES_MS };
    }
    if (found.error === 'EAGAIN') {
      return { code: 'NO_ANSWER', message: `${name}: ${full} has a listener whose queue is full: it accepts nobody` };
    }
    if (found.error === 'EACCES' || found.error === 'EPERM') {
      const barred = { path: full, uid: endpoint.uid };
      return { code: 'NOT_PERMITTED', message: `${name}: ${mayNotConnect(barred, found.error, self.uid)}` };
    }
    return { code: 'NO_LISTENER', message: `${name}: nobody listens on ${full} (${found.error})` };
  }

  #checkIncarnation({ request, endpoint, newcomer: { socketKey } }: Candidate): Refusal | undefined {
    const { roster } = this.#ports;
    if (request.expected !== undefined && request.expected !== socketKey) {
      return {
        code: 'SOCKET_SWAPPED',
        message: `${request.name}: ${endpoint.path} is another incarnation than the one that is known`,
      };
    }
    if (roster.isDeregistered(socketKey)) {
      return {
        code: 'DEREGISTERED',
        message: `${request.name}: an operator has deregistered this incarnation of ${endpoint.path}`,
      };
    }
    const claimant = roster.claimant(request, incarnationKey(endpoint.incarnation));
    if (claimant === undefined) return undefined;
    return {
      code: 'ENDPOINT_CLAIMED',
      message: `${request.name}: the socket ${endpoint.path} already serves ${claimant}`,
    };
  }

  #checkOwner({ request, newcomer, plugin }: Candidate): Refusal | undefined {
    const { type, name, pulled } = request;
    // The broker coming back to the owner itself is no newcomer.
    const owner = this.#ports.roster.owner(type, name, pulled ? newcomer.socketKey : undefined);
    return checkOwner({ name, newcomer: newcomer.uid, ruleUids: plugin.uids, owner });
  }

  #checkCaps({ request: { type, name }, listener: { uid } }: Candidate): Refusal | undefined {
    const { roster, policy, self } = this.#ports;
    return checkCaps({ type, name, uid, ownUid: self.uid, maxPlugins: policy.admission.maxPlugins, roster });
  }
}
