import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RegistrarLog, type RegistrarLogOptions } from '../../../src/registrar/registrar-log.js';

function lines(given: Partial<RegistrarLogOptions>, work: (log: RegistrarLog) => void): string[] {
  const written: string[] = [];
  const now = (): number => new Date(2026, 6, 5, 14, 3, 9, 120).getTime() + 0.5;
  const write = (line: string): void => void written.push(line);
  work(new RegistrarLog({ format: 'text', verbosity: 2, pid: 42, write, now, ...given }));
  return written;
}

describe('log lines of the registrar', () => {
  it('have the header and the quoting of klog', () => {
    const written = lines({}, (log) => {
      log.info(0, 'Socket is ready', { path: '/a "b"', count: 3, isGood: true });
      log.warning('Careful');
      log.error('Broken');
    });
    assert.deepEqual(written, [
      'I0705 14:03:09.120500      42 registrar:0] "Socket is ready" path="/a \\"b\\"" count=3 isGood=true\n',
      'W0705 14:03:09.120500      42 registrar:0] "Careful"\n',
      'E0705 14:03:09.120500      42 registrar:0] "Broken"\n',
    ]);
  });

  it('are JSON objects when that is wanted', () => {
    const [line = ''] = lines({ format: 'json' }, (log) => log.info(1, 'Hello', { driver: 'd' }));
    const { ts, ...rest } = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual(rest, { caller: 'registrar:0', msg: 'Hello', v: 1, driver: 'd' });
    assert.equal(typeof ts, 'number');
  });

  it('stay on one line under any name of a driver', () => {
    const [line = ''] = lines({}, (log) => log.error('Bad', { name: 'a\nE0705 fake\u001b[31m' }));
    assert.equal(line.split('\n').length, 2);
    assert.doesNotMatch(line, /\u001b/);
  });

  it('show each character that nobody would see', () => {
    for (const format of ['text', 'json'] as const) {
      const [line = ''] = lines({ format }, (log) => log.error('Bad', { name: 'a\u009b31m\u202eb\u2028' }));
      assert.match(line, /"a\\u009b31m\\u202eb\\u2028"/);
    }
  });

  it('above the verbosity are dropped', () => {
    const written = lines({}, (log) => {
      for (const level of [0, 1, 2, 3, 5]) log.info(level, String(level));
    });
    assert.equal(written.length, 3);
  });
});
