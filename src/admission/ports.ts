// What admission needs of the rest of the house.
import type { Caller } from '../model/ids.js';
import type { Door, PinnedSocket, RegistrationRequest } from '../model/plugin.js';
import type { Refusal } from '../model/reasons.js';
import type { AdmissionSettings, Paths, PluginPolicy } from '../model/settings.js';

/** Why a path could not be pinned. */
export interface PinProblem {
  readonly problem: 'missing' | 'not-a-socket' | 'too-long' | 'error';
  readonly detail: string;
}

/** Whose registration is to be counted. */
export interface FloodSubject {
  readonly type: string;
  readonly name: string;
  readonly uid: number;
  readonly socket: string;
  readonly caller: Caller | undefined;
  readonly door: Door;
  readonly pulled: boolean;
  /** The name is not valid: all such names of one uid share a bucket. */
  readonly badName: boolean;
  /** What it takes to pull this plugin later: the endpoint as it was spelled, and the versions it offered. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** What the flood policy says to a registration; to one that waited `delayMs`, what `next` says where there is one. */
export type FloodVerdict =
  | { readonly kind: 'pass' }
  | { readonly kind: 'delay'; readonly delayMs: number; readonly next?: () => FloodVerdict }
  | { readonly kind: 'refuse'; readonly refusal: Refusal };

/** The flood policy. */
export interface FloodPort {
  quarantined(subject: FloodSubject): Refusal | undefined;
  registration(subject: FloodSubject): FloodVerdict;
}

/** Who listens on a socket. */
export type Listener =
  | { readonly uid: number; readonly gid: number | undefined; readonly pid: number | undefined }
  | { readonly error: string };

/** The file system and kernel, as admission sees them. */
export interface SocketPort {
  pin(path: string): PinnedSocket | PinProblem;
  /** The process that listens on a pinned socket; the owner of the file where the kernel cannot be asked. */
  listenerOf(socket: PinnedSocket): Listener;
  /** A directory's real path, links followed; undefined when it does not exist. */
  realDirectory(path: string): string | undefined;
}

/** What admission asks of the actual state. */
export interface RosterPort {
  /** The instance that speaks for a plugin now, if any counts. */
  incumbent(
    type: string,
    name: string,
  ): { readonly id: string; readonly socketKey: string; readonly endpointPath: string } | undefined;
  /** The name of another plugin of the same type that this very endpoint serves, in the way of this request. */
  claimant(request: Pick<RegistrationRequest, 'type' | 'name' | 'pulled'>, endpointKey: string): string | undefined;
  /** An operator has kept this incarnation out. */
  isDeregistered(socketKey: string): boolean;
  readonly livePlugins: number;
  /** Whether the plugin counts among them already. */
  isKnown(type: string, name: string): boolean;
}

/** The configuration that admission follows; asked each time, because it can be reloaded. */
export interface AdmissionPolicy {
  readonly settings: AdmissionSettings;
  readonly paths: Paths;
  /** Allow and deny globs of names. */
  nameAllowed(name: string): boolean;
  policyFor(type: string, name: string, socket: string): PluginPolicy;
}
