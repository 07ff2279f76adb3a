// The registration service that drivers serve themselves when nobody does it for them, and its answers.
import { status, type sendUnaryData, type Server, type ServerUnaryCall } from '@grpc/grpc-js';
import type { Faults, CallFault } from './device/faults.js';
import { loadServices } from './protos.js';
import type { SimFacts } from './sim-log.js';

/** The answer of GetInfo. Apart from the broker's type of it (registration/ports): a simulator knows no stage. */
export interface RegistrationInfo {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** The observations and actions of a served method besides its answer. */
export interface ServiceHooks {
  readonly faults: Faults;
  readonly say: (event: string, facts?: SimFacts) => void;
}

/** Answers of the registration service. */
export interface RegistrationAnswers {
  readonly info: RegistrationInfo;
  /** The answer to plugin_registered=false: nothing, or an error as the DRA helper library does. */
  readonly onRefusal: 'answer' | 'error';
  readonly onNotifyFalse: () => void;
  /** The driver's reaction, for the log. */
  readonly then?: string;
}

/**
 * A handler of one method: disturbed as faults say, otherwise answered by `answer`.
 *
 * @param factsOf further facts of a call for the log
 */
export function disturbed(
  method: string,
  { faults, say }: ServiceHooks,
  answer: (request: Record<string, unknown>) => object,
  factsOf: (request: Record<string, unknown>) => SimFacts = () => ({}),
) {
  return (call: ServerUnaryCall<Record<string, unknown>, object>, reply: sendUnaryData<object>): void => {
    say('called', { method, ...factsOf(call.request) });
    faults
      .before(method)
      .then((garbage) => garbage ?? answer(call.request))
      .then(
        (value) => reply(null, value),
        (failure: unknown) => reply(failure as CallFault),
      );
  };
}

/** Adds the registration service to a server. */
export function attachRegistration(server: Server, hooks: ServiceHooks, answers: RegistrationAnswers): void {
  const api = loadServices('pluginregistration/v1/pluginregistration.proto', {
    'pluginregistration.Registration': ['GetInfo', 'NotifyRegistrationStatus'],
  });
  server.addService(api['pluginregistration.Registration'], {
    GetInfo: disturbed('GetInfo', hooks, () => answers.info),
    NotifyRegistrationStatus: disturbed('NotifyRegistrationStatus', hooks, ({ pluginRegistered, error }) => {
      const { then } = answers;
      const act = pluginRegistered === true || then === undefined ? {} : { then };
      hooks.say('notified', { registered: pluginRegistered, error, ...act });
      if (pluginRegistered === true) return {};
      answers.onNotifyFalse();
      if (answers.onRefusal === 'answer') return {};
      throw Object.assign(new Error(`registration failed: ${String(error)}`), { code: status.UNKNOWN });
    }),
  });
}
