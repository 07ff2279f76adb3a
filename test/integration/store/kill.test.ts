import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nodeFiles } from '../../../src/platform/store/node-files.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { seededRandom } from '../../support/seeded-random.js';
import { checkpointRig } from '../../support/checkpoint-rig.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

const PROGRAM = fileURLToPath(new URL('./store-writer.js', import.meta.url));
const ROUNDS = 12;

// kill -9 shows that no order of calls leaves a broken file behind; it says nothing of fsync, which the power cuts in
// test/unit/checkpoint show.
void describe('a process that is killed while it writes', () => {
  it('has lost nothing that was acknowledged and invented nothing, whenever it is killed', async () => {
    const folder = `${tempDir()}/state`;
    const random = seededRandom(7);
    const began = new Set<string>();
    const there = new Set<string>();
    const leaving = new Set<string>();
    for (let round = 0; round < ROUNDS; round += 1) {
      const child = spawn(process.execPath, [PROGRAM, folder, String(round)], { stdio: ['ignore', 'pipe', 'inherit'] });
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (said += text));
      const writes = 3 + Math.floor(random.next() * 60);
      await eventually('it has written', () => said.split('\nput ').length > writes);
      child.kill('SIGKILL');
      await once(child, 'close');
      const whole = said.slice(0, said.lastIndexOf('\n')).split('\n');
      assert.match(whole[0] ?? '', round === 0 ? /^opened empty$/ : /^opened ok$/);
      for (const line of whole) {
        const [word = '', name = ''] = line.split(' ');
        if (word === 'began') began.add(name);
        if (word === 'put') there.add(name);
        if (word === 'leaving') leaving.add(name);
        if (word === 'left') there.delete(name);
      }
      const { store } = checkpointRig(nodeFiles, folder, systemClock);
      const { view } = await store.open();
      assert.deepEqual([view.state, view.reason], ['ok', '']);
      const found = new Set<string>();
      for (const { name, list } of store.contents.plugins.values()) {
        found.add(name);
        assert.ok(began.has(name), `${name} was invented`);
        if (list !== undefined) assert.equal((await store.readList(list))?.length, list.bytes, `the list of ${name}`);
      }
      for (const name of there) assert.ok(found.has(name) || leaving.has(name), `${name} was acknowledged and is lost`);
      for (const name of leaving) if (!there.has(name)) assert.ok(!found.has(name), `${name} left and is back`);
      store.close();
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('corrupt')),
      [],
    );
  });
});
