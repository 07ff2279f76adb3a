// A process that calls a plugin while it has no file descriptor left, and again when it has: it says on standard output what its
// transport made of each. prlimit --nofile=64 node scarce-dialler.js SOCKET
import { closeSync, openSync } from 'node:fs';
import { classifyFailedCall, type FailedCall } from '../../src/model/failed-call.js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { PluginChannel } from '../../src/platform/grpc/plugin-client.js';
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

await call(); // a file that is opened once, is open
const taken = takeAll();
const without = await call();
for (const fd of taken) closeSync(fd);
process.stdout.write(JSON.stringify([without, await call()]));
clearInterval(alive);
