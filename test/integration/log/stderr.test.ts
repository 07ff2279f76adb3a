import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const source = (file: string) =>
  JSON.stringify(pathToFileURL(path.join(import.meta.dirname, '../../../src', file)).href);

/** Logs `lines` long lines to stderr at once, gives the reader `patienceMs` to take them, says so on stdout, and ends. */
function logging(lines: number, patienceMs = 100): ChildProcess {
  const program = `
    const { openLog } = await import(${source('platform/log/pino-log.js')});
    const { systemClock } = await import(${source('platform/time/system-clock.js')});
    const { log, flush } = await openLog({ level: 'info', format: 'json' }, systemClock);
    for (let index = 0; index < ${lines}; index++) {
      log.info('a.b', 'm'.repeat(1000), { index });
      if (index % 100 === 0) await new Promise(setImmediate);
    }
    await flush(${patienceMs});
    process.stdout.write('alive', () => process.exit(0));`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'pipe'] });
}

async function outcome(child: ChildProcess): Promise<{ code: unknown; said: string }> {
  let said = '';
  child.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [unknown];
  return { code, said };
}

describe('a process whose stderr', () => {
  it('is read writes every line', async () => {
    const child = logging(500, 30_000);
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    assert.deepEqual(await outcome(child), { code: 0, said: 'alive' });
    assert.equal(text.trim().split('\n').length, 500);
  });

  it('is a pipe that nobody reads goes on', async () => {
    const child = logging(3000);
    child.stderr?.pause();
    child.once('exit', () => child.stderr?.destroy());
    assert.deepEqual(await outcome(child), { code: 0, said: 'alive' });
  });

  it('is on a full disk counts what is lost, all of it, and goes on trying', async () => {
    const full = openSync('/dev/full', 'w');
    const program = `
      const { LineSink } = await import(${source('platform/log/line-sink.js')});
      const sink = new LineSink(process.stderr, (count) => count + ' are missing\\n');
      const seen = [];
      for (let turn = 0; turn < 3; turn++) {
        for (let line = 0; line < 100; line++) sink.write('line\\n');
        await new Promise(setImmediate);
        await new Promise(setImmediate);
        seen.push(sink.dropped);
      }
      process.stdout.write(seen.join());`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', full] });
    closeSync(full);
    assert.deepEqual(await outcome(child), { code: 0, said: '100,200,300' });
  });

  it('is written to by a process that ends at once keeps its last lines', async () => {
    const program = `
      const { openLog } = await import(${source('platform/log/pino-log.js')});
      const { systemClock } = await import(${source('platform/time/system-clock.js')});
      const { log, handOver } = await openLog({ level: 'info', format: 'json' }, systemClock);
      process.once('exit', handOver);
      log.info('a.b', 'the last line');
      process.exit(3);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    child.stderr.on('data', (chunk: Buffer) => (text += chunk.toString()));
    assert.equal((await outcome(child)).code, 3);
    assert.match(text, /the last line/);
  });

  it('is a pipe that was closed goes on', async () => {
    const child = logging(500);
    child.stderr?.destroy();
    assert.deepEqual(await outcome(child), { code: 0, said: 'alive' });
  });
});
