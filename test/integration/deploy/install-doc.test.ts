// docs/install.md shows commands that no test can run everywhere with the output that the shipped files would give.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { buildRoot } from '../../support/dist.js';
import { run } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';
import { documentsOf, manifests, shippedFile, type Kustomization } from './manifests.js';

const text = readFileSync(path.join(buildRoot(), 'docs', 'install.md'), 'utf8');
const line = (name: string, file: string): string =>
  new RegExp(`^${name}=(.+)$`, 'm').exec(readFileSync(file, 'utf8'))?.[1] ?? '';

describe('docs/install.md', () => {
  it('shows what kubectl makes of the manifests', () => {
    const shown = [...text.matchAll(/^(\w[\w.]*)\/([\w-]+) created$/gm)].map(([, kind = '', name]) => [
      (kind.split('.')[0] ?? '').toLowerCase(),
      name,
    ]);
    const isShown = (file: string): boolean => /kustomize.(base|overlays)\b/.test(file);
    const made = manifests()
      .filter(({ file }) => isShown(file))
      .map(({ manifest }) => [manifest.kind.toLowerCase(), manifest.metadata?.name]);
    const [base] = documentsOf(path.join('kustomize', 'base', 'kustomization.yaml')) as readonly Kustomization[];
    const { configMapGenerator = [] } = base ?? {};
    const maps = configMapGenerator.map(({ name }) => ['configmap', name]);
    const words = (pairs: readonly unknown[]): unknown[] => [...new Set(pairs.map(String))].sort();
    assert.deepEqual(words(shown), words([...made, ...maps]));
  });

  it('shows what systemd says of the unit', () => {
    const unit = shippedFile('systemd', 'plugin-broker.service');
    assert.ok(text.includes(`● plugin-broker.service - ${line('Description', unit)}\n`));
    assert.ok(text.includes(`node /usr/bin/${line('ExecStart', unit)}\n`));
    assert.ok(text.includes(`(${line('WatchdogSec', unit)}s)`));
  });

  it('shows what is said of a bad policy', async () => {
    const [, policy = ''] = /```yaml\n([^]+?)```/.exec(text) ?? [];
    const file = path.join(tempDir(), 'plugin-broker.yaml');
    writeFileSync(file, policy);
    const { stderr } = await run(['check-config', file]);
    const [problem = ''] = stderr.replaceAll(file, '/etc/plugin-broker/plugin-broker.yaml').split('\n');
    assert.match(problem, /flood\.register\.burst/);
    assert.ok(text.includes(`\n${problem}\n`), problem);
  });
});
