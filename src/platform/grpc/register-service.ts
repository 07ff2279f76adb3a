// v1beta1.Registration/Register on the wire: bytes in, one answer out. Decoding is ours, so that a request that cannot
// be decoded is a refusal with a code like any other.
import { Metadata, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Caller } from '../../model/ids.js';
import type { RegisterCall, RegisterService } from '../../model/registration.js';
import { REFUSALS, type Refusal } from '../../model/reasons.js';
import {
  Empty,
  RegisterRequest,
  registrationService,
} from '../../generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { encodeRetryInfo, STATUS_DETAILS_KEY } from '../wire/retry-info.js';
import { WireError } from '../wire/wire-error.js';
import type { GrpcDoor } from './grpc-door.js';
import type { RequestBytes } from './request-bytes.js';

/** Hears of a request that is no RegisterRequest: EventRecorder (journal/event-recorder). */
export interface UndecodableRequests {
  undecodable(refusal: Refusal, caller: Caller | undefined): void;
}

/** The largest RegisterRequest taken: admission takes less, and says by which length it is refused. */
export const MAX_REGISTER_BYTES = 8192;
/** Fields in one request, where its API may grow. */
const MOST_FIELDS = 64;

const EMPTY = Empty.encode({});

/** Serves Register on a door: `service` answers decoded requests, `told` hears of the others. */
export function serveRegister(door: GrpcDoor, service: RegisterService, told: UndecodableRequests): void {
  const answer = async (call: ServerUnaryCall<RequestBytes, Buffer>, done: sendUnaryData<Buffer>): Promise<void> => {
    const connection = door.connectionOf(call.metadata);
    const caller = connection?.caller;
    let request: RegisterCall;
    try {
      request = RegisterRequest.decode(call.request.take(), MOST_FIELDS);
    } catch (problem) {
      const why = problem instanceof WireError ? problem.message : 'it is not a protobuf message';
      const refusal: Refusal = { code: 'REQUEST_INVALID', message: `the request is not a RegisterRequest: ${why}` };
      told.undecodable(refusal, caller);
      refuse(refusal);
      return;
    }
    const outcome = await service.register(request, caller);
    if (outcome.ok) {
      connection?.answered(true);
      done(null, EMPTY);
    } else {
      refuse(outcome.refusal);
    }

    function refuse(refusal: Refusal): void {
      connection?.answered(false);
      done(statusOf(refusal));
      if (refusal.disconnect === true) door.disconnect(call.metadata);
    }
  };

  door.serveBytes([[registrationService.Register, answer]]);
}

/** A refusal as a status: its code, its sentence, and when it is worth trying again (google.rpc.RetryInfo). */
function statusOf(refusal: Refusal): { code: number; details: string; metadata: Metadata } {
  const code = REFUSALS[refusal.code].grpc;
  const details = `${refusal.code}: ${refusal.message}`;
  const metadata = new Metadata();
  if (refusal.retryAfterMs !== undefined) {
    metadata.set(STATUS_DETAILS_KEY, encodeRetryInfo(code, details, refusal.retryAfterMs));
    metadata.set('grpc-retry-pushback-ms', String(Math.ceil(refusal.retryAfterMs)));
  }
  return { code, details, metadata };
}
