import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { tempDir } from '../../support/temp-dir.js';

/** What a program does once a call about a name hangs in it; `fifo` waits for a writer that never comes. */
const ENDS: Readonly<Record<string, string>> = {
  'when nothing is left to do': '',
  'as the daemon does': `await end(0, (ms) => new Promise((go) => setTimeout(go, ms).unref()), () => undefined);`,
  'at once': 'process.exit(0);',
};

function program(fifo: string, then: string): string {
  const module = (name: string): string => JSON.stringify(new URL(`../../../src/platform/${name}.js`, import.meta.url));
  return `
    import { boundNameCalls, openSync } from ${module('fs/name-calls')};
    import { end, endThoughCallsHang } from ${module('process/ending')};
    boundNameCalls(() => performance.now(), { ownUid: process.getuid(), userOf: (uid) => uid });
    endThoughCallsHang(() => console.log('last lines'));
    try {
      openSync(${JSON.stringify(fifo)}, 64, 0o600); // O_CREAT: no question of the cache
    } catch ({ code }) {
      console.log(code);
    }
    ${then}`;
}

describe('a process in which a call about a name hangs', () => {
  for (const [how, then] of Object.entries(ENDS)) {
    it(`ends ${how}`, async () => {
      const fifo = `${tempDir()}/fifo`;
      execFileSync('mkfifo', [fifo]);
      const child = spawn(process.execPath, ['--input-type=module', '-e', program(fifo, then)], {
        stdio: ['ignore', 'pipe', 'inherit'],
        timeout: 60_000,
        killSignal: 'SIGQUIT',
      });
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
      const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
      assert.deepEqual([code, signal, text], [null, 'SIGKILL', 'ETIMEDOUT\nlast lines\n']);
    });
  }
});
