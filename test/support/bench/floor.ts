// The cost of grpc-js alone: the programs that stand beside the broker. Each does the bare minimum of the same work and
// nothing else: no admission, no policy, no disk, no log. scripts/bench.mjs makes one bundle of it, as of the broker.
//   node floor.cjs answer SOCKET     answers Register at once
//   node floor.cjs dial SOCKET       dials back for the options on a new channel, then answers
//   node floor.cjs hold SOCKET       the same, and keeps a list stream open
//   node floor.cjs allocate SOCKET,PLUGIN,FILE   calls Allocate of the plugin, writes a file like FILE durably, then answers
//   node floor.cjs proxy SOCKET,PLUGIN           passes Allocate and PreStartContainer on to the plugin, as bytes
//   node floor.cjs bytes SOCKET,FILE             answers List of PodResources with the bytes of FILE
//   node floor.cjs register DIRECTORY,N          serves N device plugins, and registers all whenever kubelet.sock is new
//   node floor.cjs watch DIRECTORY   GetInfo and NotifyRegistrationStatus on each socket that appears
import { existsSync, mkdirSync, promises as fs, readFileSync, watch } from 'node:fs';
import path from 'node:path';
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  type sendUnaryData,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import {
  devicePluginService,
  registrationService,
} from '../../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { allocatorService } from '../../../src/generated/proto/pluginbroker/v1/allocator.js';
import { podResourcesListerService } from '../../../src/generated/proto/podresources/v1/podresources.js';
import {
  registrationService as pluginRegistrationService,
  RegistrationStatus,
} from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';

const OPTIONS = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_channelz': 0, 'grpc.enable_retries': 0 };
const EMPTY = Buffer.alloc(0);
const REGISTERED = RegistrationStatus.encode({ pluginRegistered: true, error: '' });
const held: Client[] = [];

const asItIs = (bytes: Buffer): Buffer => bytes;
const dial = (socket: string): Client => new Client(`unix:${socket}`, credentials.createInsecure(), OPTIONS);

function call(
  client: Client,
  { path: name }: { path: string },
  request: Buffer,
  done: (failure: unknown) => void,
): void {
  client.makeUnaryRequest(name, asItIs, asItIs, request, done);
}

function serve(socket: string, answer: (endpoint: string, done: (failure: unknown) => void) => void): void {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  server.addService(registrationService, {
    Register: ({ request }: ServerUnaryCall<{ readonly endpoint: string }, object>, done: sendUnaryData<object>) => {
      answer(path.join(path.dirname(socket), request.endpoint), (failure) =>
        failure === null ? done(null, {}) : done(failure as Error),
      );
    },
  });
  server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), () => process.stdout.write('listening\n'));
}

function dialBack(endpoint: string, holds: boolean, done: (failure: unknown) => void): void {
  const client = dial(endpoint);
  held.push(client);
  call(client, devicePluginService.GetDevicePluginOptions, EMPTY, (failure) => {
    if (holds && failure === null) {
      const stream = client.makeServerStreamRequest(devicePluginService.ListAndWatch.path, asItIs, asItIs, EMPTY);
      stream.on('data', () => undefined);
      stream.on('error', () => undefined);
    }
    done(failure);
  });
}

function greet(socket: string): void {
  const client = dial(socket);
  call(client, pluginRegistrationService.GetInfo, EMPTY, (failure) => {
    if (failure !== null) return;
    call(client, pluginRegistrationService.NotifyRegistrationStatus, REGISTERED, () => client.close());
  });
}

/** A server for bytes: each method is answered as `answer` says. */
function serveBytes(
  socket: string,
  methods: readonly string[],
  answer: (request: Buffer, method: string) => Promise<Buffer>,
): void {
  const server = new Server({ 'grpc.enable_channelz': 0 });
  for (const method of methods) {
    const definition = {
      call: {
        path: method,
        requestStream: false,
        responseStream: false,
        requestSerialize: asItIs,
        requestDeserialize: asItIs,
        responseSerialize: asItIs,
        responseDeserialize: asItIs,
      },
    } as const;
    server.addService(definition, {
      call: ({ request }: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
        void answer(request, method).then((bytes) => done(null, bytes)),
    });
  }
  server.bindAsync(`unix:${socket}`, ServerCredentials.createInsecure(), () => process.stdout.write('listening\n'));
}

/** One call as bytes. */
function ask(client: Client, method: string, request: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(method, asItIs, asItIs, request, (failure, bytes) =>
      failure === null && bytes !== undefined ? resolve(bytes) : reject(failure as Error),
    );
  });
}

/** Two calls in place of one, and nothing else. */
function proxy(socket: string, plugin: string): void {
  const client = dial(plugin);
  const { Allocate, PreStartContainer } = devicePluginService;
  serveBytes(socket, [Allocate.path, PreStartContainer.path], (request, method) => ask(client, method, request));
}

/** Asks the plugin over a connection that stays open, and makes one file durable as a group commit does. */
function allocate(socket: string, plugin: string, file: string): void {
  const client = dial(plugin);
  const document = readFileSync(file);
  serveBytes(socket, [allocatorService.Allocate.path], async (request) => {
    const answer = await ask(client, devicePluginService.Allocate.path, request);
    const temporary = `${file}.new`;
    const opened = await fs.open(temporary, 'w', 0o600);
    await opened.write(document);
    await opened.datasync();
    await opened.close();
    await fs.rm(`${file}.previous`, { force: true });
    if (existsSync(file)) await fs.link(file, `${file}.previous`);
    await fs.rename(temporary, file);
    const directory = await fs.open(path.dirname(file), 'r');
    await directory.sync();
    await directory.close();
    return answer;
  });
}

/** Plugins without a broker that do what they can: their sockets outlive the wipe, and they register the moment they see it. */
async function register(directory: string, count: number): Promise<void> {
  const own = path.join(directory, 'bare');
  mkdirSync(own, { recursive: true });
  const devices = [0, 1].map((nth) => ({ id: `dev-${String(nth)}`, health: 'Healthy' }));
  for (let nth = 0; nth < count; nth += 1) {
    const server = new Server({ 'grpc.enable_channelz': 0 });
    server.addService(devicePluginService, {
      // Else the front would answer PreStartContainer itself, and the bench compare a call with none.
      GetDevicePluginOptions: (_: unknown, done: sendUnaryData<object>) => done(null, { preStartRequired: true }),
      ListAndWatch: (call: { write: (list: object) => void }) => call.write({ devices }),
      GetPreferredAllocation: (_: unknown, done: sendUnaryData<object>) => done(null, {}),
      Allocate: (_: unknown, done: sendUnaryData<object>) => done(null, {}),
      PreStartContainer: (_: unknown, done: sendUnaryData<object>) => done(null, {}),
    });
    const socket = `unix:${path.join(own, `${String(nth)}.sock`)}`;
    await new Promise<void>((resolve) => server.bindAsync(socket, ServerCredentials.createInsecure(), () => resolve()));
  }
  const all = (): void => {
    if (!existsSync(path.join(directory, 'kubelet.sock'))) return;
    const client = dial(path.join(directory, 'kubelet.sock'));
    held.push(client);
    for (let nth = 0; nth < count; nth += 1) {
      const request = {
        version: 'v1beta1',
        endpoint: `bare/${String(nth)}.sock`,
        resourceName: `example.com/r${String(nth)}`,
        options: { preStartRequired: true },
      };
      const { path: method, requestSerialize } = registrationService.Register;
      client.makeUnaryRequest(method, requestSerialize, asItIs, request, () => undefined);
    }
  };
  watch(directory, (_, name) => {
    if (name === 'kubelet.sock') all();
  });
  all();
  process.stdout.write('listening\n');
}

const [, , mode = '', target = ''] = process.argv;
const [first = '', second = '', third = ''] = target.split(',');
if (mode === 'answer') serve(target, (_, done) => done(null));
else if (mode === 'dial' || mode === 'hold')
  serve(target, (endpoint, done) => dialBack(endpoint, mode === 'hold', done));
else if (mode === 'allocate') allocate(first, second, third);
else if (mode === 'proxy') proxy(first, second);
else if (mode === 'bytes') {
  const bytes = readFileSync(second);
  serveBytes(first, [podResourcesListerService.List.path], () => Promise.resolve(bytes));
} else if (mode === 'register') void register(first, Number(second));
else if (mode === 'watch') {
  const greeted = new Set<string>();
  watch(target, (_, name) => {
    if (name === null || name.startsWith('.') || greeted.has(name)) return;
    greeted.add(name);
    greet(path.join(target, name));
  });
  process.stdout.write('listening\n');
}
// The bench asks it to forget what it dialled before the next round.
process.on('SIGUSR2', () => {
  for (const client of held.splice(0)) client.close();
});
