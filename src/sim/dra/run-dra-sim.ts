// `sim dra`: a DRA driver as its helper library makes them: it registers itself, and answers a refusal with an error.
import path from 'node:path';
import type { Server } from '@grpc/grpc-js';
import { Faults } from '../device/faults.js';
import { driverProcess, liveAsDriver, type Driver, type DriverProcess, type DriverVoice } from '../driver-life.js';
import { loadServices } from '../protos.js';
import { attachRegistration, disturbed, type ServiceHooks } from '../registration-service.js';
import type { DraSimOptions } from './options.js';

/**
 * Runs a simulated DRA driver until the signal aborts or it ends by itself. It logs its actions and observations on standard
 * output, one JSON object a line.
 *
 * @returns the exit code: 0, the one of its options, or 1 when it gave up
 */
export function runDraSim(
  options: DraSimOptions,
  signal: AbortSignal,
  around: DriverProcess = driverProcess(),
): Promise<number> {
  return liveAsDriver((voice) => draDriver(options, voice), options, signal, around);
}

function draDriver(options: DraSimOptions, voice: DriverVoice): Driver {
  const { driver, plugins, registry, instance, services, pluginType } = options;
  const hooks: ServiceHooks = { faults: new Faults(options.fault), say: voice.say };
  const suffix = instance === undefined ? '' : `-${instance}`;
  const socket = path.join(plugins, driver, `dra${suffix}.sock`);
  const info = {
    type: pluginType,
    name: driver,
    endpoint: options.endpoint ?? socket,
    supportedVersions: services === '' ? [] : services.split(','),
  };
  return {
    service: { path: socket, attach: (server) => attachDra(server, options, hooks) },
    registration: {
      path: path.join(registry, `${driver}${suffix}-reg.sock`),
      attach: (server) => attachRegistration(server, hooks, { info, onRefusal: 'error', onNotifyFalse: voice.refused }),
    },
  };
}

interface Claims {
  readonly claims?: readonly { readonly uid?: string }[];
}

function attachDra(server: Server, { serve }: DraSimOptions, hooks: ServiceHooks): void {
  const answerEach = (answer: object) => (request: Claims) => ({
    claims: Object.fromEntries((request.claims ?? []).map(({ uid }) => [uid ?? '', answer])),
  });
  for (const version of serve) {
    const name = `k8s.io.kubelet.pkg.apis.dra.${version}.DRAPlugin`;
    const api = loadServices(`dra/${version}/dra.proto`, {
      [name]: ['NodePrepareResources', 'NodeUnprepareResources'],
    });
    const service = api[name];
    if (service === undefined) continue;
    server.addService(service, {
      NodePrepareResources: disturbed('NodePrepareResources', hooks, answerEach({ devices: [] })),
      NodeUnprepareResources: disturbed('NodeUnprepareResources', hooks, answerEach({})),
    });
  }
}
