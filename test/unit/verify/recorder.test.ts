import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BrokerNews } from '../../../src/model/fault-port.js';
import { recordLine, type RecordLine, type RecordOf } from '../../../src/verify/record.js';
import { ScenarioRecorder } from '../../../src/verify/recorder.js';
import type { ScenarioResult } from '../../../src/verify/verdict.js';

/** All moments lie before the beginning of the record, which makes them its first one. */
const AT = 0;
const SCENARIO = { name: 'reboot', does: 'boots', passesWhen: 'it is back' };
const RESULT: ScenarioResult = {
  ...{ name: 'reboot', verdict: 'failed', code: 'late', seconds: 1, startedAt: 0 },
  ...{ evidence: 'in /tmp/v-1', at: [], timeline: [], output: '' },
};

function recorder(): { recorder: ScenarioRecorder; lines: RecordLine[]; of: Of } {
  const lines: RecordLine[] = [];
  const redact = (text: string): string => text.replaceAll('/tmp/v-1', '{private}');
  const made = new ScenarioRecorder((line) => void lines.push(line), SCENARIO, redact, 1);
  const of: Of = (kind) => lines.filter((line): line is RecordOf<typeof kind> => line.kind === kind);
  return { recorder: made, lines, of };
}
type Of = <Kind extends RecordLine['kind']>(kind: Kind) => RecordOf<Kind>[];

const picture = (
  allocatable: number,
  incarnation = '1:2:3',
  state: 'ready' | 'gone' = 'ready',
): Extract<BrokerNews, { kind: 'picture' }> => ({
  kind: 'picture',
  at: AT,
  plugins: [
    {
      ...{ type: 'DevicePlugin', name: 'a.b/c', door: 'register', state, reason: 'registered', incarnation },
      ...{ socket: '/tmp/v-1/k/a.sock', pid: 1, capacity: 2, allocatable, isListed: true, isDurable: true },
    },
  ],
});

describe('the recorder of a scenario', () => {
  it('writes only lines of the published form, private paths replaced', () => {
    const { recorder: record, lines, of } = recorder();
    record.take({
      kind: 'call',
      at: AT,
      door: 'register',
      type: 'DevicePlugin',
      name: 'a.b/c',
      fate: 'held',
      heldMs: 9,
    });
    const event = {
      time: '2026-11-01T10:00:00.000Z',
      seq: 7,
      type: 'state',
      reason: 'registered',
      plugin: 'p',
      socket: '/tmp/v-1/a',
      message: 'at /tmp/v-1',
    } as const;
    record.take({ kind: 'event', at: AT, event });
    record.take({ kind: 'phase', at: AT, phase: 'ready' });
    record.take({ kind: 'stream', at: AT, socket: '/tmp/v-1/a.sock', is: 'up' });
    record.span('broker', '7', 'down', 'by SIGKILL');
    record.note('verify', 'removed /tmp/v-1/a');
    record.log('plugin', 'out', Buffer.from('listens at /tmp/v-1/a\n'));
    record.end(RESULT, true);
    for (const line of lines) assert.deepEqual(recordLine.parse(line), line);
    assert.doesNotMatch(JSON.stringify(lines), /v-1/);
    assert.deepEqual(of('verdict')[0]?.warn, true);
    assert.deepEqual(of('call')[0]?.ms, 9);
    assert.deepEqual([of('event')[0]?.event.time, of('event')[0]?.event.seq], [event.time, 7]);
  });

  it('tells devices and sockets only when they change', () => {
    const { recorder: record, of } = recorder();
    for (const allocatable of [2, 2, 1, 1]) record.take(picture(allocatable));
    record.take(picture(2, '1:2:4'));
    record.take(picture(0, '1:2:4', 'gone'));
    assert.deepEqual(
      of('devices').map((line) => line.allocatable),
      [2, 1, 2, 0],
    );
    assert.deepEqual(
      of('span').map(({ lane, id, is }) => `${lane} ${id} ${is}`),
      ['socket a.sock up', 'socket a.sock down', 'socket a.sock up', 'socket a.sock down'],
    );
  });

  it('ends the streams of a broker that ends', () => {
    const { recorder: record, of } = recorder();
    record.take({ kind: 'stream', at: AT, socket: '/k/a.sock', is: 'up' });
    record.span('broker', '7', 'down');
    assert.deepEqual(
      of('span').map(({ lane, is }) => `${lane} ${is}`),
      ['stream up', 'broker down', 'stream down'],
    );
  });

  it('keeps head and tail of a long log, says what is between, and tears no line', () => {
    const { recorder: record, of } = recorder();
    for (let index = 0; index < 20_000; index += 1)
      record.log('plugin', 'out', Buffer.from(`line ${index} of /tmp/v-1\n`));
    record.end(RESULT, false);
    const text = of('log')
      .map((line) => line.text)
      .join('');
    assert.ok(text.length < 70_000, String(text.length));
    assert.ok(text.startsWith('line 0 of {private}\n') && text.endsWith('line 19999 of {private}\n'));
    assert.ok(text.split('\n').every((line) => line === '' || /^line \d+ of \{private\}$/.test(line)));
    assert.match(
      of('note')
        .map(({ what }) => what)
        .join(),
      /^\d+ bytes of logs are left out/,
    );
  });

  it('replaces a private path that comes in two pieces', () => {
    const { recorder: record, of } = recorder();
    for (const piece of ['at /tm', 'p/v-1/x', '\nand']) record.log('plugin', 'out', Buffer.from(piece));
    record.end(RESULT, false);
    assert.deepEqual(
      of('log').map((line) => line.text),
      ['at {private}/x\n', 'and'],
    );
  });

  it('keeps the two streams of a process apart', () => {
    const { recorder: record, of } = recorder();
    record.log('plugin', 'out', Buffer.from('one '));
    record.log('plugin', 'err', Buffer.from('of the\n'));
    record.log('plugin', 'out', Buffer.from('line\n'));
    for (const text of ['x\n', 'x\n']) record.log('plugin', 'out', Buffer.from(text.repeat(10_000)));
    record.log('plugin', 'err', Buffer.from('the last\n'));
    record.end(RESULT, false);
    const texts = (stream: 'out' | 'err') => of('log').flatMap((line) => (line.stream === stream ? [line.text] : []));
    assert.deepEqual(texts('err'), ['of the\n', 'the last\n']);
    assert.equal(texts('out')[0], 'one line\n');
    assert.match(texts('out').slice(1).join(''), /^(x\n)+$/);
  });

  it('bounds calls and moments, and says how many are left out', () => {
    const { recorder: record, lines, of } = recorder();
    for (let index = 0; index < 3_000; index += 1) {
      record.take({
        kind: 'call',
        at: AT,
        door: 'register',
        type: 'DevicePlugin',
        name: 'a',
        fate: 'passed',
        heldMs: 0,
      });
      record.note('verify', 'x');
    }
    record.end(RESULT, false);
    assert.deepEqual([of('call').length, of('note').length], [2_000, 301]);
    assert.equal(of('note').at(-1)?.what, '3700 more moments are left out');
    assert.equal(lines.at(-1)?.kind, 'verdict');
  });

  it('writes nothing after its verdict', () => {
    const { recorder: record, lines } = recorder();
    record.end(RESULT, false);
    record.note('plugin', 'late');
    record.log('plugin', 'out', Buffer.from('late\n'));
    assert.equal(lines.at(-1)?.kind, 'verdict');
  });
});
