import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import path from 'node:path';
import { silentLog } from '../../support/silence.js';
import { loadLibc } from '../../../src/platform/peer/libc.js';
import { openNotifier } from '../../../src/platform/systemd/notifier.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

/** Prints each datagram that reaches an address, with the pid that the kernel says it came from. */
const RECEIVER = `
import socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
name = sys.argv[1]
s.bind('\\0' + name[1:] if name.startswith('@') else name)
print('bound', flush=True)
while True:
    data, extra, _, _ = s.recvmsg(4096, 64)
    print(struct.unpack('3i', extra[0][2])[0], data, flush=True)
`;

const has = (program: string) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
const noPython = !has('python3') && 'python3 is not installed';

async function receiving(address: string): Promise<{ said: () => string; stop: () => void }> {
  let text = '';
  const child = spawn('python3', ['-c', RECEIVER, address], { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await eventually('the receiver is bound', () => text.includes('bound'));
  return { said: () => text, stop: () => child.kill() };
}

describe('systemd', { skip: noPython }, () => {
  const addresses = [path.join(tempDir(), 'notify'), `@pb-${process.pid}`];
  for (const address of addresses) {
    const kind = address.startsWith('@') ? 'an abstract name' : 'a path';
    it(`is told through koffi at ${kind}`, { skip: loadLibc() === undefined && 'koffi is not installed' }, async () => {
      const { said, stop } = await receiving(address);
      const env = { NOTIFY_SOCKET: address, WATCHDOG_USEC: '20000' };
      const notifier = openNotifier({ env, pid: process.pid, clock: systemClock, log: silentLog, libc: loadLibc });
      notifier.ready('2 plugins');
      await eventually('three beats', () => said().split('WATCHDOG=1').length > 3);
      notifier.stopping();
      await eventually('stopping', () => said().includes('STOPPING=1'));
      notifier.close();
      stop();
      assert.match(said(), new RegExp(`^${process.pid} b'READY=1\\\\nSTATUS=2 plugins\\\\n'$`, 'm'));
    });
  }

  it(
    'is told by systemd-notify where koffi is missing',
    { skip: !has('systemd-notify') && 'systemd-notify is not installed' },
    async () => {
      const address = path.join(tempDir(), 'notify');
      const { said, stop } = await receiving(address);
      const env = { ...process.env, NOTIFY_SOCKET: address };
      const notifier = openNotifier({
        env,
        pid: process.pid,
        clock: systemClock,
        log: silentLog,
        libc: () => undefined,
      });
      notifier.ready('2 plugins');
      await eventually('ready', () => said().includes('READY=1') && said().includes('STATUS=2 plugins'));
      stop();
    },
  );

  it('that cannot be told by anybody is a warning, not an end', async () => {
    const warned: string[] = [];
    const log = { ...silentLog, warn: (_event: string, message: string) => void warned.push(message) };
    const env = { NOTIFY_SOCKET: '/nowhere/notify', PATH: '/nowhere' };
    for (const libc of [loadLibc, () => undefined]) {
      warned.length = 0;
      const notifier = openNotifier({ env, pid: 1, clock: systemClock, log, libc });
      notifier.ready('');
      await eventually('a warning', () => warned.length === 1);
      assert.match(warned[0] ?? '', /systemd cannot be told/);
      notifier.close();
    }
  });
});
