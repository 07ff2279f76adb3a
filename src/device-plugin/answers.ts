// The calls that a device plugin answers, between the wire and its author.
import { status, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import type {
  AllocateRequest as WireAllocate,
  PreferredAllocationRequest,
  PreStartContainerRequest,
} from '../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { asError } from '../kernel/clock.js';
import { Until } from '../kernel/until.js';
import type { CallContext, ContainerAllocation, DevicePluginOptions } from './plugin-api.js';

/** A call is refused with a status. */
class CallRefused extends Error {
  readonly code: status;
  constructor(code: status, message: string) {
    super(message);
    this.code = code;
  }
}

/** The parts of the answers. */
export interface AnswersParts {
  readonly options: DevicePluginOptions;
  readonly has: (id: string) => boolean;
  readonly stopped: AbortSignal;
  readonly failed: (error: Error) => void;
}

/** The handlers by their names, for the tables of the wire. */
export function answersOf({ options, has, stopped, failed }: AnswersParts): Record<string, unknown> {
  const { allocate, preferred, preStart, resource } = options;
  const untilStopped = new Until(stopped);
  const check = (ids: readonly string[]): void => {
    const unknown = ids.find((id) => !has(id));
    if (unknown !== undefined) throw new CallRefused(status.NOT_FOUND, `${resource} has no device ${unknown}`);
  };
  const answer =
    <Q>(work: (request: Q, call: CallContext) => object | Promise<object>) =>
    (call: ServerUnaryCall<Q, object>, reply: sendUnaryData<object>): void => {
      const gone = new AbortController();
      call.on('cancelled', () => gone.abort(new Error('the caller has gone')));
      untilStopped
        .or(gone.signal, async (signal) => work(call.request, { signal, resource }))
        .then(
          (answered) => reply(null, answered),
          (thrown: unknown) => {
            const error = asError(thrown);
            if (!(error instanceof CallRefused)) failed(error);
            reply(refusalOf(error));
          },
        );
    };
  return {
    GetDevicePluginOptions: answer(() => optionsOf(options)),
    Allocate: answer(async ({ containerRequests }: ReturnType<typeof WireAllocate.decode>, call) => {
      const containers = containerRequests.map(({ devicesIds }) => ({ deviceIds: devicesIds }));
      for (const { deviceIds } of containers) check(deviceIds);
      const answered = (await allocate?.({ containers }, call)) ?? { containers: containers.map(() => ({})) };
      // Nothing checks the types of a plugin that is written in JavaScript.
      if (!Array.isArray(answered.containers)) throw new Error('allocate answered without its list `containers`');
      if (answered.containers.length !== containers.length) {
        throw new Error(
          `allocate answered for ${answered.containers.length} containers and was asked for ${containers.length}`,
        );
      }
      return { containerResponses: answered.containers.map(onTheWire) };
    }),
    GetPreferredAllocation: answer(
      async ({ containerRequests }: ReturnType<typeof PreferredAllocationRequest.decode>, call) => {
        const containerResponses = [];
        for (const one of containerRequests) {
          const asked = {
            available: one.availableDeviceIds,
            mustInclude: one.mustIncludeDeviceIds,
            size: one.allocationSize,
          };
          containerResponses.push({ deviceIds: (await preferred?.(asked, call)) ?? [] });
        }
        return { containerResponses };
      },
    ),
    PreStartContainer: answer(async ({ devicesIds }: ReturnType<typeof PreStartContainerRequest.decode>, call) => {
      check(devicesIds);
      await preStart?.(devicesIds, call);
      return {};
    }),
  };
}

/** Which calls a plugin wants, as it says when it registers and when it is asked. */
export function optionsOf({ preStart, preferred }: DevicePluginOptions): {
  preStartRequired: boolean;
  getPreferredAllocationAvailable: boolean;
} {
  return { preStartRequired: preStart !== undefined, getPreferredAllocationAvailable: preferred !== undefined };
}

/** An error that an author throws may name a gRPC status as `code`. */
function refusalOf(error: Error): CallRefused {
  const { code } = error as { readonly code?: unknown };
  if (isStatus(code)) return new CallRefused(code, error.message);
  return new CallRefused(status.UNKNOWN, error.message);
}

/** A status other than OK. */
function isStatus(code: unknown): code is status {
  return typeof code === 'number' && code > 0 && code in status;
}

function onTheWire({ envs = {}, mounts, devices, annotations = {}, cdiDevices }: ContainerAllocation): object {
  return {
    envs: new Map(Object.entries(envs)),
    annotations: new Map(Object.entries(annotations)),
    mounts: mounts ?? [],
    devices: (devices ?? []).map(({ permissions = 'rw', ...device }) => ({ ...device, permissions })),
    cdiDevices: (cdiDevices ?? []).map((name) => ({ name })),
  };
}
