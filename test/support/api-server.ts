import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned, type SelfSigned } from './self-signed.js';

/** The answer to a request that is not served. */
export type Fault =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly message?: string }
  /** Never answered. */
  | 'hang'
  /** The connection is cut. */
  | 'cut'
  /** Served, but the connection is cut before the answer. */
  | 'cut-after';

/** One request as it came. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

interface Meta {
  name: string;
  uid: string;
  resourceVersion: string;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  ownerReferences?: { apiVersion: string; kind: string; name: string; uid: string }[];
}

interface Driver {
  name: string;
  nodeID: string;
  topologyKeys?: string[];
  allocatable?: { count: number };
}

/** A Node or a CSINode. */
export interface StoredObject {
  apiVersion: string;
  kind: string;
  metadata: Meta;
  spec?: { drivers?: Driver[]; [other: string]: unknown };
}

/**
 * A double of the API server: real HTTPS, a bearer token, Nodes and CSINodes with resource versions, strategic merge
 * patches as far as these two need them, and the API server's own rule that no driver entry of a CSINode may be altered.
 */
export class ApiServer {
  readonly tls: SelfSigned = selfSigned();
  readonly objects = new Map<string, StoredObject>();
  readonly requests: SeenRequest[] = [];
  token = 'first-token';
  /** Asked before each request is served. */
  fault: (request: SeenRequest) => Fault | undefined = () => undefined;
  readonly #server: Server;
  #version = 100;
  #uids = 0;

  constructor() {
    this.#server = createServer({ cert: this.tls.cert, key: this.tls.key }, (request, response) => {
      void this.#serve(request, response);
    });
  }

  async listen(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** A kubeconfig for this server; `user` replaces the token it would have. */
  kubeconfig(user: Readonly<Record<string, string>> = { token: this.token }): string {
    const ca = Buffer.from(this.tls.cert).toString('base64');
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'here',
      clusters: [
        { name: 'here', cluster: { server: `https://127.0.0.1:${this.port}`, 'certificate-authority-data': ca } },
      ],
      users: [{ name: 'me', user }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'me' } }],
    });
  }

  /** Puts a Node there. */
  addNode(name: string, meta: Partial<Meta> = {}): StoredObject {
    return this.#store(`/api/v1/nodes/${name}`, { apiVersion: 'v1', kind: 'Node', metadata: this.#meta(name, meta) });
  }

  /** Puts a CSINode there. */
  addCsiNode(name: string, drivers: Driver[], meta: Partial<Meta> = {}): StoredObject {
    const path = `/apis/storage.k8s.io/v1/csinodes/${name}`;
    const object = { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: this.#meta(name, meta) };
    return this.#store(path, { ...object, spec: { drivers } });
  }

  node(name: string): StoredObject | undefined {
    return this.objects.get(`/api/v1/nodes/${name}`);
  }

  csiNode(name: string): StoredObject | undefined {
    return this.objects.get(`/apis/storage.k8s.io/v1/csinodes/${name}`);
  }

  /** Changes an object as somebody else does: its version moves on. */
  touch(object: StoredObject | undefined, change: (object: StoredObject) => void = () => undefined): void {
    if (object === undefined) throw new Error('no such object');
    change(object);
    object.metadata.resourceVersion = this.#nextVersion();
  }

  #meta(name: string, given: Partial<Meta>): Meta {
    this.#uids += 1;
    return { name, uid: `uid-${String(this.#uids)}`, resourceVersion: this.#nextVersion(), ...given };
  }

  #nextVersion(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #store(path: string, object: StoredObject): StoredObject {
    this.objects.set(path, object);
    return object;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const seen: SeenRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
    };
    this.requests.push(seen);
    const fault = this.fault(seen);
    if (fault === 'hang') return;
    if (fault === 'cut') {
      request.socket.destroy();
      return;
    }
    const answer = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): void => {
      if (fault === 'cut-after') request.socket.destroy();
      else response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    };
    const fail = (status: number, message: string, headers?: Readonly<Record<string, string>>, reason?: string): void =>
      answer(status, { kind: 'Status', status: 'Failure', code: status, message, reason }, headers);
    if (typeof fault === 'object') fail(fault.status, fault.message ?? 'as the test wants it', fault.headers);
    else if (request.headers.authorization !== `Bearer ${this.token}`) fail(401, 'Unauthorized');
    else if (seen.method === 'PATCH' && request.headers['content-type'] !== 'application/strategic-merge-patch+json') {
      fail(415, 'the body of the request was in an unknown format');
    } else {
      try {
        answer(seen.method === 'POST' ? 201 : 200, this.#handle(seen));
      } catch (failure) {
        if (failure instanceof Failure)
          fail(failure.status, failure.message, {}, failure.status === 404 ? 'NotFound' : undefined);
        else throw failure;
      }
    }
  }

  #handle({ method, path, body }: SeenRequest): StoredObject {
    if (method === 'POST') return this.#create(path, body as StoredObject);
    const object = this.objects.get(path);
    if (object === undefined) throw new Failure(404, `${path} not found`);
    if (method === 'GET') return object;
    if (method === 'DELETE') {
      const { preconditions } = (body ?? {}) as { preconditions?: { uid?: string; resourceVersion?: string } };
      const { uid, resourceVersion } = object.metadata;
      if (
        (preconditions?.uid ?? uid) !== uid ||
        (preconditions?.resourceVersion ?? resourceVersion) !== resourceVersion
      ) {
        throw new Failure(409, 'the precondition failed');
      }
      this.objects.delete(path);
      return object;
    }
    if (method !== 'PATCH') throw new Failure(405, 'not allowed');
    return this.#patch(object, body as Patch);
  }

  #create(collection: string, given: StoredObject): StoredObject {
    const path = `${collection}/${given.metadata.name}`;
    if (this.objects.has(path)) throw new Failure(409, 'already exists');
    const { name, ownerReferences } = given.metadata;
    const metadata = this.#meta(name, ownerReferences === undefined ? {} : { ownerReferences });
    return this.#store(path, { ...given, metadata });
  }

  #patch(object: StoredObject, { metadata = {}, spec }: Patch): StoredObject {
    const { resourceVersion, annotations, labels } = metadata;
    if (resourceVersion !== undefined && resourceVersion !== object.metadata.resourceVersion) {
      throw new Failure(409, 'the object has been modified; please apply your changes to the latest version');
    }
    const drivers = mergeDrivers(object.spec?.drivers ?? [], spec?.drivers ?? []);
    if (spec?.drivers !== undefined) object.spec = { ...object.spec, drivers };
    mergeTexts(object.metadata, 'annotations', annotations);
    mergeTexts(object.metadata, 'labels', labels);
    this.touch(object);
    return object;
  }
}

interface Patch {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly annotations?: Readonly<Record<string, string | null>>;
    readonly labels?: Readonly<Record<string, string | null>>;
  };
  readonly spec?: { readonly drivers?: readonly (Driver | { readonly $patch: 'delete'; readonly name: string })[] };
}

class Failure extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function mergeTexts(
  meta: Meta,
  field: 'annotations' | 'labels',
  patch: Readonly<Record<string, string | null>> | undefined,
): void {
  if (patch === undefined) return;
  const texts = new Map(Object.entries(meta[field] ?? {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) texts.delete(key);
    else texts.set(key, value);
  }
  meta[field] = Object.fromEntries(texts);
}

function mergeDrivers(
  present: readonly Driver[],
  patch: readonly (Driver | { $patch: 'delete'; name: string })[],
): Driver[] {
  const drivers = new Map(present.map((driver) => [driver.name, driver]));
  for (const item of patch) {
    const before = drivers.get(item.name);
    if ('$patch' in item) drivers.delete(item.name);
    else if (before !== undefined && JSON.stringify({ ...before, ...item }) !== JSON.stringify(before)) {
      throw new Failure(422, 'CSINode is invalid: spec.drivers: Invalid value: field is immutable');
    } else drivers.set(item.name, item);
  }
  return [...drivers.values()];
}
