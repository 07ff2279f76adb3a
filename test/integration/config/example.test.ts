import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseDocument, visit, isPair, isScalar } from 'yaml';
import { defaultForm } from '../../../src/platform/config/compiled-form.js';
import { jsonSchema } from '../../../src/platform/config/file-schema.js';
import { parseYaml } from '../../../src/platform/config/yaml-file.js';
import { buildRoot } from '../../support/dist.js';
import { recordSchema } from '../../../src/verify/record.js';

const beside = (name: string) => readFileSync(path.join(buildRoot(), 'config', name), 'utf8');

describe('config/plugin-broker.yaml', () => {
  it('has every key, and is exactly the defaults', async () => {
    const text = beside('plugin-broker.yaml');
    assert.deepEqual(parseDocument(text).toJS(), defaultForm);
    const read = await parseYaml(text);
    assert.deepEqual('form' in read && read.form, defaultForm);
  });

  it('says in a line above each key what it means', () => {
    const lines = beside('plugin-broker.yaml').split('\n');
    const document = parseDocument(lines.join('\n'));
    const silent: string[] = [];
    visit(document, {
      Pair(_, pair, ancestors) {
        if (ancestors.some((ancestor) => isPair(ancestor) && isScalar(ancestor.key) && ancestor.key.value === 'rules'))
          return;
        if (!isScalar(pair.key) || pair.key.range === undefined) return;
        const row = lines.join('\n').slice(0, pair.key.range?.[0]).split('\n').length - 1;
        if (!/^\s*# \S/.test(lines[row - 1] ?? '')) silent.push(String(pair.key.value));
      },
    });
    assert.deepEqual(silent, []);
  });
});

describe('config/plugin-broker.schema.json', () => {
  it('is the schema that the program checks by (npm run schema writes it)', () => {
    assert.deepEqual(JSON.parse(beside('plugin-broker.schema.json')), JSON.parse(JSON.stringify(jsonSchema())));
  });
});

describe('config/verify-record.schema.json', () => {
  it('is the schema of what verify records (npm run schema writes it)', () => {
    assert.deepEqual(JSON.parse(beside('verify-record.schema.json')), JSON.parse(JSON.stringify(recordSchema())));
  });
});
