// What grpc-js alone costs: the programs that stand beside the broker. Each does the bare minimum of the same work and
// nothing else: no admission, no policy, no disk, no log. scripts/bench.mjs makes one bundle of it, as of the broker.
//   node floor.cjs answer SOCKET     answers Register at once
//   node floor.cjs dial SOCKET       dials back for the options on a new channel, then answers
//   node floor.cjs hold SOCKET       the same, and keeps a list stream open
//   node floor.cjs watch DIRECTORY   GetInfo and NotifyRegistrationStatus on each socket that appears
import { watch } from 'node:fs';
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

const [, , mode = '', target = ''] = process.argv;
if (mode === 'answer') serve(target, (_, done) => done(null));
else if (mode === 'dial' || mode === 'hold')
  serve(target, (endpoint, done) => dialBack(endpoint, mode === 'hold', done));
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
