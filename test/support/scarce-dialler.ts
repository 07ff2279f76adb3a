// A process that calls a plugin, and asks who listens there, while it has no file descriptor left, and again when it has: it says on
// standard output what its transport and the kernel made of each. prlimit --nofile=64 node scarce-dialler.js SOCKET
import { closeSync, openSync } from 'node:fs';
import { classifyFailedCall, type FailedCall } from '../../src/model/failed-call.js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import type { PinnedSocket } from '../../src/model/plugin.js';
import { pinSocket } from '../../src/platform/fs/socket-pin.js';
import { PluginChannel } from '../../src/platform/grpc/plugin-client.js';
import { Peers } from '../../src/platform/peer/peers.js';
import { guarding } from './guarding.js';

const socket = process.argv[2] ?? '';
const signal = new AbortController().signal;
const alive = setInterval(() => undefined, 1000);

async function call(): Promise<string> {
  const channel = new PluginChannel(socket, 65_536, guarding, socket);
  try {
    await channel.unary(devicePluginService.GetDevicePluginOptions.path, Buffer.alloc(0), 5_000, signal);
    return 'answered';
  } catch (failure) {
    const refusal = classifyFailedCall(failure as FailedCall, 'it failed', 'x', 'OPTIONS_FAILED');
    return `${refusal.code} ${String(refusal.retryAfterMs)}`;
  } finally {
    channel.close();
  }
}

/** Takes all that are left. */
function takeAll(): number[] {
  const taken: number[] = [];
  for (;;) {
    try {
      taken.push(openSync('/dev/null', 'r'));
    } catch {
      return taken;
    }
  }
}

const peers = new Peers();
const pin = pinSocket(socket);
if ('problem' in pin) throw new Error(pin.problem);

/** Whether the process that started this one listens on a socket, or why nobody can say. */
function listenerOf(pinned: PinnedSocket): string | boolean {
  const found = peers.listenerOf(pinned);
  return 'error' in found ? found.error : found.pid === process.ppid;
}

const asked = async (): Promise<unknown[]> => [await call(), listenerOf(pin)];
await asked(); // a file that is opened once, and libc, are open
const taken = takeAll();
const without = await asked();
for (const fd of taken) closeSync(fd);
process.stdout.write(JSON.stringify([without, await asked()]));
clearInterval(alive);
