// A kubelet's side of the talk with one plugin (kubernetes: pkg/kubelet/cm/devicemanager/plugin/v1beta1/client.go and
// endpoint.go): ten seconds to connect, thirty for PreStartContainer, no deadline for anything else, messages up to 4 MiB.
import type { Client, ServiceError } from '@grpc/grpc-js';
import { asError } from '../../kernel/clock.js';
import { GuardedClient } from '../../platform/grpc/guarded-client.js';
import { systemClock } from '../../platform/time/system-clock.js';
import { loadServices, type LoadedMethod } from '../protos.js';
import type { ListedDevice } from './device-manager.js';

const DIAL_MS = 10_000;
const PRE_START_MS = 30_000;
/** The default limit of Go's gRPC: a longer list ends the stream. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** The answer of GetDevicePluginOptions. */
export interface ClientOptions {
  readonly preStartRequired: boolean;
  readonly getPreferredAllocationAvailable: boolean;
}

/** The answer for one container. */
export interface ContainerAnswer {
  readonly envs?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

const METHODS = [
  'GetDevicePluginOptions',
  'ListAndWatch',
  'GetPreferredAllocation',
  'Allocate',
  'PreStartContainer',
] as const;

/** The calls of the API. */
export type PluginApi = Readonly<Record<(typeof METHODS)[number], LoadedMethod>>;

/** Reads the API from its .proto file: once for all clients, because it takes longer than a call. */
export function loadPluginApi(): PluginApi {
  const file = 'deviceplugin/v1beta1/deviceplugin.proto';
  return loadServices(file, { 'v1beta1.DevicePlugin': METHODS })['v1beta1.DevicePlugin'];
}

/** A connection to a plugin. */
export class PluginClient {
  readonly socket: string;
  readonly #client: Client;
  readonly #api: PluginApi;

  constructor(socket: string, api: PluginApi) {
    this.socket = socket;
    this.#api = api;
    this.#client = new GuardedClient(`unix:${socket}`, systemClock, {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    });
  }

  /** Connects. @throws Error when nobody serves there within ten seconds */
  connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(Date.now() + DIAL_MS, (failure) => {
        if (failure === undefined) resolve();
        else reject(new Error(`failed to dial device plugin with socketPath ${this.socket}: ${failure.message}`));
      });
    });
  }

  /** The plugin's options. */
  options(): Promise<ClientOptions> {
    return this.#call<ClientOptions>('GetDevicePluginOptions', {});
  }

  /** Follows the lists until the stream ends; gives the reason. Lists are taken one after the other. */
  watch(listed: (devices: readonly ListedDevice[]) => void): Promise<string> {
    const { path, requestSerialize, responseDeserialize } = this.#api.ListAndWatch;
    return new Promise<string>((resolve) => {
      // Throws when the connection was closed meanwhile, as the end of an older stream of the resource does.
      const stream = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, {});
      stream.on('data', ({ devices = [] }: { devices?: readonly { ID: string; health: string }[] }) => {
        listed(devices.map(({ ID: id, health }) => ({ id, isHealthy: health === 'Healthy' })));
      });
      stream.on('error', (failure: Error) => resolve(failure.message));
      stream.on('end', () => resolve('the plugin ended its stream'));
    }).catch((failure: unknown) => asError(failure).message);
  }

  /** Which of the free devices the plugin would rather give away. */
  async preferred(available: readonly string[], size: number): Promise<readonly string[]> {
    const request = { containerRequests: [{ availableDeviceIDs: available, allocationSize: size }] };
    const { containerResponses } = await this.#call<{
      containerResponses?: readonly { deviceIDs?: readonly string[] }[];
    }>('GetPreferredAllocation', request);
    return containerResponses?.[0]?.deviceIDs ?? [];
  }

  /** Asks for devices for one container. */
  async allocate(ids: readonly string[]): Promise<ContainerAnswer> {
    const { containerResponses = [] } = await this.#call<{ containerResponses?: readonly ContainerAnswer[] }>(
      'Allocate',
      { containerRequests: [{ devicesIds: ids }] },
    );
    const [answer] = containerResponses;
    if (answer === undefined) throw new Error('no containers in response of the plugin');
    return answer;
  }

  /** The last touch before a container starts. */
  async preStart(ids: readonly string[]): Promise<void> {
    await this.#call('PreStartContainer', { devicesIds: ids }, Date.now() + PRE_START_MS);
  }

  /** Ends the connection and with it the stream. */
  close(): void {
    this.#client.close();
  }

  #call<Answer>(method: (typeof METHODS)[number], request: object, deadline?: number): Promise<Answer> {
    const { path, requestSerialize, responseDeserialize } = this.#api[method];
    return new Promise((resolve, reject) => {
      const options = deadline === undefined ? {} : { deadline };
      this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, options, (failure, answer) =>
        failure === null ? resolve(answer as Answer) : reject(inGo(failure)),
      );
    });
  }
}

/** A failed call in the words in which a kubelet, which is written in Go, shows it. */
function inGo({ code, details }: ServiceError): Error {
  return new Error(`rpc error: code = ${CODES[code] ?? String(code)} desc = ${details}`);
}

const CODES: readonly string[] = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];
