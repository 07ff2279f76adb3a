import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { hasUnseen } from '../../../src/kernel/visible.js';
import type { LogSettings } from '../../../src/model/settings.js';
import { openLog, type OpenLog } from '../../../src/platform/log/pino-log.js';
import { FakeClock } from '../../support/fake-clock.js';

const JSON_LOG: LogSettings = { level: 'info', format: 'json' };

/** A stream that keeps what it is given, or nothing while it is stuck. */
class Kept extends Writable {
  isTTY = false;
  isStuck = false;
  /** Makes the log hand over what it gathered. */
  gathered: () => void = () => undefined;
  #text = '';
  #resume: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#text += chunk.toString();
    if (this.isStuck) this.#resume = done;
    else done();
  }

  unstick(): void {
    this.isStuck = false;
    this.#resume?.();
  }

  get text(): string {
    this.gathered();
    return this.#text;
  }

  lines(): Record<string, unknown>[] {
    return this.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}

async function opened(settings = JSON_LOG, stream = new Kept()): Promise<{ stream: Kept; clock: FakeClock } & OpenLog> {
  const clock = new FakeClock();
  const log = await openLog(settings, clock, stream);
  stream.gathered = log.handOver;
  return { stream, clock, ...log };
}

describe('the log', () => {
  it('writes one JSON object a line: time, level, event, fields, message', async () => {
    const { log, stream } = await opened();
    log.warn('admission.refused', 'The plugin a.b/c was refused: 100%s', { plugin: 'a.b/c', uid: 7, names: ['x'] });
    assert.deepEqual(stream.lines(), [
      {
        level: 'warn',
        time: '2030-01-01T00:00:00.000Z',
        event: 'admission.refused',
        plugin: 'a.b/c',
        uid: 7,
        names: ['x'],
        msg: 'The plugin a.b/c was refused: 100%s',
      },
    ]);
  });

  it('leaves out what is below its level, which can be changed', async () => {
    const { log, stream, setLevel } = await opened();
    log.debug('a.b', 'unseen');
    setLevel('debug');
    log.debug('a.b', 'seen');
    setLevel('error');
    log.warn('a.b', 'unseen');
    assert.deepEqual(
      stream.lines().map(({ msg }) => msg),
      ['seen'],
    );
  });

  it('shows what plugins chose without anything a terminal or a reader of lines would act on', async () => {
    const evil = 'a\nb\r\u001b[31mred\u009b2J\u202etxt\u2028\u0000\u007f\u00ad\u200b\u{e0067} "q"';
    for (const format of ['json', 'pretty'] as const) {
      const { log, stream } = await opened({ level: 'info', format });
      log.info('a.b', `The plugin ${evil} came`, { name: evil, names: [evil] });
      const text =
        format === 'json'
          ? String(stream.lines()[0]?.['name']) + String(stream.lines()[0]?.['msg'])
          : stream.text.trimEnd();
      assert.equal(hasUnseen(text), false);
      assert.match(text, /a\\+nb\\+r\\+x1b\[31mred/);
      assert.equal(stream.text.trimEnd().split('\n').length, 1);
    }
  });

  it('cuts what is too long, and lists too', async () => {
    const { log, stream } = await opened();
    log.info('a.b', 'm'.repeat(10_000), { name: 'n'.repeat(10_000), names: Array<string>(100).fill('x') });
    const [line] = stream.lines();
    assert.ok(line);
    assert.deepEqual(
      [String(line['name']).length, String(line['msg']).length, (line['names'] as string[]).at(-1)],
      [513, 4097, '68 more'],
    );
  });

  it('is for people on a terminal, and JSON elsewhere', async () => {
    const terminal = new Kept();
    terminal.isTTY = true;
    const pretty = await opened({ level: 'info', format: 'auto' }, terminal);
    pretty.log.warn('a.b', 'Something happened');
    assert.match(terminal.text, /WARN.*Something happened/);
    assert.throws(() => terminal.lines());
    const plain = await opened({ level: 'info', format: 'auto' });
    plain.log.warn('a.b', 'Something happened');
    assert.equal(plain.stream.lines().length, 1);
  });
});

describe('lines of one turn of the loop', () => {
  it('go out together when it ends', async () => {
    const { log, stream } = await opened();
    const written: string[] = [];
    stream.gathered = () => undefined;
    stream._write = (chunk, _encoding, done) => {
      written.push(chunk.toString());
      done();
    };
    for (const msg of ['one', 'two', 'three']) log.info('a.b', msg);
    assert.deepEqual(written, []);
    await new Promise(setImmediate);
    assert.equal(written.length, 1);
    assert.match(written.join(''), /"one".*\n.*"two".*\n.*"three".*\n$/);
  });

  it('go out at once where one of them is a warning, and before the turn ends where they are many', async () => {
    const { log, stream } = await opened();
    stream.gathered = () => undefined;
    log.info('a.b', 'one');
    assert.equal(stream.text, '');
    log.warn('a.b', 'two');
    assert.deepEqual(
      stream.lines().map(({ msg }) => msg),
      ['one', 'two'],
    );
    for (let index = 0; index < 2000; index++) log.info('a.b', 'm'.repeat(1000));
    await new Promise(setImmediate);
    assert.equal(stream.lines().length, 2002, 'a reader that takes everything gets everything');
  });
});

describe('a log that nobody reads', () => {
  it('drops lines beyond its bound, and says how many when it is read again', async () => {
    const { log, stream } = await opened();
    stream.isStuck = true;
    for (let index = 0; index < 2000; index++) log.info('a.b', 'm'.repeat(1000));
    stream.gathered();
    assert.ok(stream.writableLength <= 2 ** 20);
    stream.unstick();
    log.info('a.b', 'after');
    const lines = stream.lines();
    const told = lines.find(({ event }) => event === 'log.lines-dropped');
    assert.ok(told);
    assert.equal(Number(told['count']) + lines.length - 2, 2000);
    assert.equal(lines.at(-1)?.['msg'], 'after');
  });

  it('is given up at the end of the process after the time allowed', async () => {
    const { log, stream, clock, flush } = await opened();
    stream.isStuck = true;
    log.info('a.b', 'stuck');
    let isDone = false;
    const flushed = flush(500).then(() => (isDone = true));
    await clock.advance(499);
    assert.equal(isDone, false);
    await clock.advance(1);
    await flushed;
    assert.equal(clock.pending, 0);
  });

  it('is over as soon as all lines are out otherwise', async () => {
    const { log, flush, clock } = await opened();
    log.info('a.b', 'out');
    await flush(500);
    assert.equal(clock.pending, 0);
  });

  it('that was closed harms nobody', async () => {
    const { log, stream, flush } = await opened();
    stream.destroy(new Error('EPIPE'));
    await new Promise(setImmediate);
    log.info('a.b', 'lost');
    await flush(500);
    assert.equal(stream.text, '');
  });
});
