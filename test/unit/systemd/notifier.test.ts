import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { silentLog } from '../../support/silence.js';
import type { Failed, Libc } from '../../../src/platform/peer/libc.js';
import { openNotifier, watchdogBeatMs } from '../../../src/platform/systemd/notifier.js';
import { FakeClock } from '../../support/fake-clock.js';

/** A notifier whose datagrams are kept, or fail. */
function notifying(env: Record<string, string>, failure?: Failed) {
  const sent: string[] = [];
  const warned: string[] = [];
  const clock = new FakeClock();
  const libc = { sendDatagram: (to: string, text: string) => (sent.push(`${to} ${text}`), failure) } as unknown as Libc;
  const log = { ...silentLog, warn: (event: string) => void warned.push(event) };
  const notifier = openNotifier({ env, pid: 42, clock, log, libc: () => libc });
  return { sent, warned, clock, notifier };
}

const ADDRESS = { NOTIFY_SOCKET: '@n' };

describe('the notifier', () => {
  it('says ready, status and stopping, one line each', () => {
    const { notifier, sent } = notifying(ADDRESS);
    notifier.ready('3 plugins');
    notifier.status('2 plugins\nREADY=0');
    notifier.stopping();
    assert.deepEqual(sent, [
      '@n READY=1\nSTATUS=3 plugins\n',
      '@n STATUS=2 plugins\\nREADY=0\n',
      '@n STOPPING=1\nSTATUS=stopping\n',
    ]);
  });

  it('beats at half the time of the watchdog, from ready until it is closed', async () => {
    const { notifier, sent, clock } = notifying({ ...ADDRESS, WATCHDOG_USEC: '10000000', WATCHDOG_PID: '42' });
    await clock.advance(20_000);
    assert.deepEqual(sent, []);
    notifier.ready('');
    notifier.ready('');
    await clock.advance(14_999);
    assert.equal(sent.filter((text) => text === '@n WATCHDOG=1\n').length, 3);
    notifier.close();
    await clock.advance(60_000);
    assert.equal(sent.filter((text) => text === '@n WATCHDOG=1\n').length, 3);
    assert.equal(clock.pending, 0);
  });

  it('knows when the watchdog is not meant for it', () => {
    assert.equal(watchdogBeatMs({ WATCHDOG_USEC: '3000000' }, 42), 1500);
    assert.equal(watchdogBeatMs({ WATCHDOG_USEC: '3000000', WATCHDOG_PID: '7' }, 42), undefined);
    assert.equal(watchdogBeatMs({ WATCHDOG_USEC: 'x' }, 42), undefined);
    assert.equal(watchdogBeatMs({}, 42), undefined);
  });

  it('does nothing where systemd did not start the process, or names an address that is none', () => {
    const useless: Record<string, string>[] = [
      {},
      { NOTIFY_SOCKET: '' },
      { NOTIFY_SOCKET: 'vsock:2:3' },
      { NOTIFY_SOCKET: '@' },
    ];
    for (const env of useless) {
      const { notifier, sent, warned } = notifying(env);
      notifier.ready('');
      notifier.stopping();
      assert.deepEqual([sent, warned], [[], []]);
    }
  });

  it('warns once when nobody can be told', () => {
    const { notifier, warned } = notifying(ADDRESS, { error: 'ENOENT' });
    notifier.ready('');
    notifier.status('');
    assert.deepEqual(warned, ['systemd.not-told']);
  });
});
