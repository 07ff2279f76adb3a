// The calls to a device plugin about using its devices: typed for the ledger, as bytes for callers that pass them on.
import type { PluginAnswer } from '../../model/lease.js';
import { GRPC_STATUS } from '../../model/reasons.js';
import type { DeviceCalls } from '../../model/device-use.js';
import {
  AllocateRequest,
  AllocateResponse,
  devicePluginService,
  PreferredAllocationRequest,
  PreferredAllocationResponse,
  PreStartContainerRequest,
} from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { CallFailed, type PluginChannel } from './plugin-client.js';

/** Bytes of an answer to Allocate for a pod, which is passed on and not read. */
const MAX_ALLOCATE_BYTES = 1024 * 1024;
/** Bytes of an answer to Allocate that a lease keeps: 64 KiB of it may be texts. */
const MAX_LEASE_BYTES = 128 * 1024;
/** Bytes of an answer that names devices: MOST_IDS ids of 16 bytes. */
const MAX_PREFERRED_BYTES = 1024 * 1024;
/** Bytes of answers that say nothing. */
const MAX_EMPTY_BYTES = 64 * 1024;
/** The largest answer to each call. */
const MAX_BYTES: Readonly<Record<Parameters<DeviceCalls['call']>[0], number>> = {
  Allocate: MAX_ALLOCATE_BYTES,
  GetPreferredAllocation: MAX_PREFERRED_BYTES,
  PreStartContainer: MAX_EMPTY_BYTES,
};
/** Fields of an answer that a lease keeps, known or not: a mount has four, a variable three. */
const MOST_FIELDS = 16_384;
/** CDI names of one answer. */
const MOST_NAMES = 8192;
/** Characters of annotations that name CDI devices: more than a lease keeps are not looked into. */
const MAX_NAMES_CHARACTERS = 64 * 1024;
/** Ids of one answer. */
const MOST_IDS = 65_536;

/** Annotations whose values are CDI names, joined by comma. */
const CDI_ANNOTATION = 'cdi.k8s.io/';

/** Makes the calls of one channel. */
export function deviceCalls(channel: PluginChannel): DeviceCalls {
  const call: DeviceCalls['call'] = (method, request, limitMs, signal) =>
    channel.unary(devicePluginService[method].path, request, limitMs, signal, MAX_BYTES[method]);
  return {
    call,
    allocate: async (ids, limitMs, signal, counted = uncounted) => {
      // One container: some plugins refuse more, and the kubelet never sends more.
      const request = AllocateRequest.encode({ containerRequests: [{ devicesIds: ids }] });
      const bytes = await channel.unary(devicePluginService.Allocate.path, request, limitMs, signal, MAX_LEASE_BYTES);
      return counted(() => answerIn(bytes));
    },
    preferred: async ({ available, mustInclude, size }, limitMs, signal, counted = uncounted) => {
      const request = PreferredAllocationRequest.encode({
        containerRequests: [{ availableDeviceIds: available, mustIncludeDeviceIds: mustInclude, allocationSize: size }],
      });
      const bytes = await call('GetPreferredAllocation', request, limitMs, signal);
      const answered = counted(() => decoded(() => PreferredAllocationResponse.decode(bytes, MOST_IDS)));
      return answered.containerResponses[0]?.deviceIds ?? [];
    },
    preStart: async (ids, limitMs, signal) => {
      await call('PreStartContainer', PreStartContainerRequest.encode({ devicesIds: ids }), limitMs, signal);
    },
  };
}

function uncounted<T>(work: () => T): T {
  return work();
}

/** @throws CallFailed when the answer is for no container */
function answerIn(bytes: Buffer): PluginAnswer {
  const [answer] = decoded(() => AllocateResponse.decode(bytes, MOST_FIELDS)).containerResponses;
  if (answer === undefined) throw new CallFailed(GRPC_STATUS.INTERNAL, 'the answer is for no container');
  const { envs, mounts, devices, annotations, cdiDevices } = answer;
  const names = [...cdiDevices.map(({ name }) => name), ...annotated(annotations)].filter((name) => name !== '');
  return { envs, mounts, devices, annotations, cdiDevices: [...new Set(names)] };
}

/** CDI names in annotations; empty ones are among them. */
function annotated(annotations: ReadonlyMap<string, string>): readonly string[] {
  const values = [...annotations].filter(([key]) => key.startsWith(CDI_ANNOTATION)).map(([, value]) => value);
  const characters = values.reduce((sum, { length }) => sum + length, 0);
  if (characters > MAX_NAMES_CHARACTERS) throw unusable('its annotations of CDI devices are too long');
  const names = values.flatMap((value) => value.split(',', MOST_NAMES + 1));
  if (names.length > MOST_NAMES) throw unusable('its annotations name too many CDI devices');
  return names.map((name) => name.trim());
}

function unusable(details: string): CallFailed {
  return new CallFailed(GRPC_STATUS.INTERNAL, details);
}

/** An answer that cannot be decoded is a failed call like any other. */
export function decoded<T>(decode: () => T): T {
  try {
    return decode();
  } catch (problem) {
    throw new CallFailed(
      GRPC_STATUS.INTERNAL,
      problem instanceof Error ? problem.message : 'the answer cannot be decoded',
    );
  }
}
