// A registration on its way: the call, the verdict of admission, and the outcome. The stages hand it on in these shapes.
import type { Caller } from './ids.js';
import type { Instance } from './instance.js';
import type { Outcome, PinnedSocket, PluginHandler, RegistrationRequest } from './plugin.js';
import type { Refusal } from './reasons.js';
import type { PluginPolicy } from './settings.js';

/**
 * UTF-16 units of each text of a registration that are looked at: anything so long is refused, and its rest would be kept for
 * nothing.
 */
export const LONGEST_TEXT = 2048;

/** A decoded v1beta1.RegisterRequest. Its options are left out: the answer of GetDevicePluginOptions counts. */
export interface RegisterCall {
  readonly version: string;
  readonly endpoint: string;
  readonly resourceName: string;
}

/** The implementation of v1beta1.Registration: RegisterDoor (registration/register-door). */
export interface RegisterService {
  /** Answers one call; never rejects. */
  register(call: RegisterCall, caller: Caller | undefined): Promise<Outcome>;
}

/** The way that both doors and every pull take. Enrolments (reconcile/enrolment) is it. */
export interface Enroller {
  /** Takes a plugin in, or says why not; never rejects. */
  enrol(request: RegistrationRequest, signal: AbortSignal): Promise<Outcome>;
  /** Tells of a registration that its door refused by itself: the broker is stopping, or too many wait already. */
  refuse(request: RegistrationRequest, refusal: Refusal): void;
}

/** Hears of sockets that were refused before their plugin was known: EventRecorder (journal/event-recorder). */
export interface RefusedSockets {
  /** @param uid the owner of the socket as discovery found it, in whose share of the log and of `status` it counts */
  refusedAt(socket: string, refusal: Refusal, uid: number): void;
}

/** The plugins that the watcher door tells the outcome of their registration: Reports (reconcile/reports). */
export interface NoticeBoard {
  /** Whether an instance is connected still: a plugin that was lost meanwhile is not told that it is registered. */
  isRegistered(instanceId: string): boolean;
  /** The plugin serves, but does not know it yet (`isPending`), or has been told now. */
  notifyPending(instanceId: string, isPending: boolean, message: string): void;
}

/** A registration that may come in, as `Admission.admit` (admission/admission) made it. Its taker releases both sockets. */
export interface Admitted {
  readonly admitted: true;
  readonly socket: PinnedSocket;
  readonly endpoint: PinnedSocket;
  readonly caller: Caller | undefined;
  /** The process that listens on the endpoint: whichever process called, its session is with this one. */
  readonly listener: Caller;
  readonly policy: PluginPolicy;
  /** Conditions that others may have changed since: checked in the same turn in which the registration is entered. */
  readonly recheck: () => Refusal | undefined;
}

/** The verdict of admission: let in, or why not. */
export type AdmissionVerdict = Admitted | { readonly admitted: false; readonly refusal: Refusal };

/** May it come in? Admission (admission/admission) decides. */
export interface Admitter {
  /** @param handler of the request's type, for its name and version rules and to ask the incumbent */
  admit(
    request: RegistrationRequest,
    handler: PluginHandler | undefined,
    signal: AbortSignal,
  ): Promise<AdmissionVerdict>;
  /** The path of a refused request's endpoint, as far as it can be told. */
  whereIs(request: RegistrationRequest): string;
}

/** An instance that has a name. */
export interface Incumbent {
  readonly id: string;
  readonly socketKey: string;
  readonly endpointPath: string;
  /** Of the caller, or of the listener on its registration socket; undefined where unknown. */
  readonly uid: number | undefined;
}

/** The owner of a name. */
export interface NameOwner {
  readonly uid: number;
  readonly endpointPath: string;
  /** It does not serve (held, from the checkpoint, in quarantine, being asked, its path taken): its name may be free soon. */
  readonly isHeld: boolean;
}

/** Admission's questions about the actual state. Claims (reconcile/claims) answers. */
export interface NameClaims {
  /** The instance that speaks for a plugin now, if any counts. */
  incumbent(type: string, name: string): Incumbent | undefined;
  /**
   * The owner of the name: the uid of the instance that has it, or would have it when it comes back. Undefined when nobody has
   * it, or only hints from another boot do.
   *
   * @param except the key of the registration socket that is left out
   */
  owner(type: string, name: string, except: string | undefined): NameOwner | undefined;
  /** The name of another plugin of the same type that this very endpoint serves, in the way of this request. */
  claimant(request: Pick<RegistrationRequest, 'type' | 'name' | 'pulled'>, endpointKey: string): string | undefined;
  /** An operator has kept this incarnation out. */
  isDeregistered(socketKey: string): boolean;
  readonly livePlugins: number;
  /** Live plugins of one user, and of all users other than root and the broker's. */
  livePluginsOf(uid: number, ownUid: number): { readonly own: number; readonly strangers: number };
  /** Whether the plugin counts among them already. */
  isKnown(type: string, name: string): boolean;
}

/** The durable part of registrations: Persistence (checkpoint/persistence). */
export interface RegistrationStore {
  /** A plugin is being asked: if it answers, its registration is made durable. */
  expect(): void;
  /**
   * Makes a registration durable; false when it could not be written in time. It is written later then.
   *
   * @param pulled nobody called: where the instance is durable already, what is new of it is written with other changes
   */
  persist(instance: Instance, pulled?: boolean): Promise<boolean>;
  /** Whether the durable state still is on the disk: files that somebody removed are written again before it resolves. */
  isKept(): Promise<boolean>;
  /** Whether an operator has kept an incarnation out. */
  isDeregistered(socketKey: string): boolean;
}

/**
 * The result of an attempt to bring a plugin in: settled, or again (after at least `atLeastMs`, because trying sooner is
 * pointless). `keptOut`: the plugin (`type/name`) whose quarantine is waited for, so that the attempt is made at once when that
 * ends early.
 */
export type Attempt =
  { readonly done: true } | { readonly done: false; readonly atLeastMs?: number; readonly keptOut?: string };
