// Serves the admin API on a grpc-js server. The listener is the daemon's: broker.sock, mode 0600.
import {
  status,
  type sendUnaryData,
  type ServerErrorResponse,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import type { AdminService } from '../../admin/admin-service.js';
import type { Answer, Problem } from '../../model/answer.js';
import { asError } from '../../kernel/clock.js';
import type { Log } from '../../kernel/log.js';
import { adminService } from '../../generated/proto/pluginbroker/v1/admin.js';
import type { WireMethod } from '../wire/method.js';
import type { Decoded, Fields, Given } from '../wire/table.js';
import { pages, resourcePages, sizeOfView } from './admin-pages.js';

/** The arguments of `server.addService`. */
export interface ServedAdmin {
  readonly definition: ServiceDefinition;
  readonly handlers: UntypedServiceImplementation;
}

/** Makes the admin API of a service. Every failure ends in a status; nothing is thrown at grpc-js. */
export function servedAdmin(service: AdminService, log: Log): ServedAdmin {
  const streamed = streaming(log);
  const answered = unary(log);
  const methods = {
    Status: streamed(adminService.Status, async function* ({ omitDevices }) {
      const { broker, checkpoint, policy, ledger, plugins, resources, refused } = service.status();
      yield { broker, checkpoint, policy, ledger };
      for (const page of pages(plugins, sizeOfView)) yield { plugins: page };
      for await (const page of resourcePages(resources, omitDevices)) yield { resources: page };
      for (const page of pages(refused, sizeOfView)) yield { refused: page };
    }),
    ListPlugins: streamed(adminService.ListPlugins, function* ({ name }) {
      for (const page of pages(valueOf(service.plugins(name)), sizeOfView)) yield { plugins: page };
    }),
    ListResources: streamed(adminService.ListResources, async function* ({ name, omitDevices }) {
      for await (const page of resourcePages(valueOf(service.resources(name)), omitDevices)) yield { resources: page };
    }),
    ListLimits: streamed(adminService.ListLimits, function* ({ name }) {
      for (const page of pages(valueOf(service.limits(name)), sizeOfView)) yield { limits: page };
    }),
    Events: streamed(adminService.Events, (query, signal) => service.events(query, signal)),
    Explain: answered(adminService.Explain, ({ subject, type }) => service.explain(subject, type)),
    Pardon: answered(adminService.Pardon, async ({ name, type }) => sentence(await service.pardon(name, type))),
    Deregister: answered(adminService.Deregister, async ({ name, type, force }) =>
      sentence(await service.deregister(name, type, force)),
    ),
    ResetLedger: answered(adminService.ResetLedger, async () => sentence(await service.resetLedger())),
    Reload: answered(adminService.Reload, () => service.reload()),
    Forget: answered(adminService.Forget, async ({ name, type, force }) =>
      sentence(await service.forget(name, type, force)),
    ),
  };
  return {
    definition: Object.fromEntries(Object.entries(methods).map(([name, { definition }]) => [name, definition])),
    handlers: Object.fromEntries(Object.entries(methods).map(([name, { handler }]) => [name, handler])),
  };
}

/** A problem on its way out of a stream. */
class Problematic extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

function valueOf<T>(given: Answer<T>): T {
  if (!given.ok) throw new Problematic(given.problem);
  return given.value;
}

function sentence(given: Answer<string>): Answer<{ readonly message: string }> {
  return given.ok ? { ok: true, value: { message: given.value } } : given;
}

function statusOf(path: string, thrown: unknown, log: Log): Partial<ServerErrorResponse> {
  if (thrown instanceof Problematic) return { code: status[thrown.problem.code], details: thrown.problem.message };
  const { message } = asError(thrown);
  log.error('admin.call-failed', `The admin call ${path} failed: ${message}`, { path });
  return { code: status.INTERNAL, details: message };
}

/**
 * A method with a stream of answers. They are encoded here and not by grpc-js, whose sending would never end after an
 * answer that cannot be encoded. One answer is out at a time, so a slow reader costs one page.
 */
function streaming(log: Log) {
  return <Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    work: (request: Decoded<Q>, signal: AbortSignal) => Iterable<Given<A>> | AsyncIterable<Given<A>>,
  ) => {
    const pump = async (call: ServerWritableStream<Decoded<Q>, Buffer>): Promise<void> => {
      const gone = new AbortController();
      call.once('cancelled', () => gone.abort(new Error('the caller went away')));
      try {
        for await (const item of work(call.request, gone.signal)) {
          if (!(await sent(call, method.responseSerialize(item), gone.signal))) return;
        }
        call.end();
      } catch (thrown) {
        if (!gone.signal.aborted) call.emit('error', statusOf(method.path, thrown, log));
      }
    };
    return {
      definition: { ...method, responseSerialize: (bytes: Buffer) => bytes },
      handler: (call: ServerWritableStream<Decoded<Q>, Buffer>) => void pump(call),
    };
  };
}

/** Resolves true when an answer has left, false when the caller went away: then grpc-js drops the callback. */
function sent(call: ServerWritableStream<unknown, Buffer>, bytes: Buffer, gone: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (gone.aborted) {
      resolve(false);
      return;
    }
    const onGone = (): void => resolve(false);
    gone.addEventListener('abort', onGone, { once: true });
    call.write(bytes, () => {
      gone.removeEventListener('abort', onGone);
      resolve(!gone.aborted);
    });
  });
}

/** A method with one answer. */
function unary(log: Log) {
  return <Q extends Fields, A extends Fields>(
    method: WireMethod<Q, A>,
    work: (request: Decoded<Q>, signal: AbortSignal) => Promise<Answer<Given<A>>>,
  ) => {
    const respond = async (call: ServerUnaryCall<Decoded<Q>, Buffer>, reply: sendUnaryData<Buffer>): Promise<void> => {
      const gone = new AbortController();
      call.once('cancelled', () => gone.abort(new Error('the caller went away')));
      try {
        reply(null, method.responseSerialize(valueOf(await work(call.request, gone.signal))));
      } catch (thrown) {
        if (!gone.signal.aborted) reply(statusOf(method.path, thrown, log));
      }
    };
    return {
      definition: { ...method, responseSerialize: (bytes: Buffer) => bytes },
      handler: (call: ServerUnaryCall<Decoded<Q>, Buffer>, reply: sendUnaryData<Buffer>) => void respond(call, reply),
    };
  };
}
