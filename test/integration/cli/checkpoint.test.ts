import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { emptyDocument } from '../../../src/checkpoint/document.js';
import { CheckpointCodec } from '../../../src/checkpoint/codec.js';
import { runHere } from '../../support/captured-terminal.js';
import { run } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const root = tempDir();
const file = path.join(root, 'state', 'checkpoint.json');

describe('checkpoint', () => {
  let whole: Buffer;
  before(() => {
    mkdirSync(path.dirname(file));
    whole = Buffer.from(new CheckpointCodec().encode(emptyDocument('a-boot')));
    writeFileSync(file, whole);
  });

  it('show reads the checkpoint of a root without its daemon', async () => {
    const ended = await run(['checkpoint', 'show', '--root', root]);
    assert.deepEqual([ended.code, ended.stderr], [0, '']);
    assert.match(ended.stdout, /state\/checkpoint\.json is whole: format \d+, generation \d+, .* 0 plugins/);
  });

  it('show -o json gives everything', async () => {
    const ended = await runHere(['checkpoint', 'show', file, '-o', 'json']);
    const contents = JSON.parse(ended.stdout) as { file: string; bootId: string; plugins: unknown };
    assert.deepEqual([contents.file, contents.bootId, contents.plugins], [file, 'a-boot', []]);
  });

  it('verify ends with 0 for a whole file and with 1 for one with a flipped bit, of whose format nothing is known', async () => {
    assert.equal((await runHere(['checkpoint', 'verify', file])).code, 0);
    const copy = path.join(root, 'copy.json');
    const damaged = Buffer.from(whole);
    damaged[damaged.length - 10] = (damaged[damaged.length - 10] ?? 0) ^ 1;
    writeFileSync(copy, damaged);
    assert.match((await runHere(['checkpoint', 'show', copy])).stdout, / is damaged: format unknown, generation /);
    const ended = await runHere(['checkpoint', 'verify', copy]);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /copy\.json: it cannot be used: /);
    assert.equal(ended.stdout, '');
  });

  for (const verb of ['show', 'verify'])
    it(`${verb} ends with 1 and names the file that is missing`, async () => {
      const ended = await runHere(['checkpoint', verb, path.join(root, 'none.json')]);
      assert.equal(ended.code, 1);
      assert.match(ended.stderr, /there is no file .*none\.json/);
    });
});
