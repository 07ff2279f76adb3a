import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const source = (file: string) =>
  JSON.stringify(pathToFileURL(path.join(import.meta.dirname, '../../../src', file)).href);

/** A process that logs `lines` long lines to its stderr at once, says on stdout what came of it, and ends. */
function logging(lines: number): ChildProcess {
  const program = `
    const { openLog } = await import(${source('platform/log/pino-log.js')});
    const { systemClock } = await import(${source('platform/time/system-clock.js')});
    const { log, flush } = await openLog({ level: 'info', format: 'json' }, systemClock);
    for (let index = 0; index < ${lines}; index++) {
      log.info('a.b', 'm'.repeat(1000), { index });
      if (index % 100 === 0) await new Promise(setImmediate);
    }
    await flush(100);
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
    const child = logging(500);
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

  it('is a pipe that was closed goes on', async () => {
    const child = logging(500);
    child.stderr?.destroy();
    assert.deepEqual(await outcome(child), { code: 0, said: 'alive' });
  });
});
