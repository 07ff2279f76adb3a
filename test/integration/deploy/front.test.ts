import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { resolveSettings } from '../../../src/config/resolve.js';
import { kubeletPaths } from '../../../src/platform/kubelet/front-paths.js';
import { defaultRoot } from '../../../src/model/root.js';
import { formWith, somewhere } from '../../support/config.js';
import { shippedFile } from './manifests.js';

const ours = path.join(defaultRoot({ uid: 0, home: '/root', xdgStateHome: undefined }), 'device-plugins');
/** The words of a setting in a file of systemd, of all its lines. */
function words(file: string, setting: string): string[] {
  const lines = readFileSync(shippedFile('systemd', file), 'utf8').split('\n');
  return lines.flatMap((line) => (line.startsWith(`${setting}=`) ? line.slice(setting.length + 1).split(' ') : []));
}

const text = (file: string): string => readFileSync(shippedFile(`in-front-of-a-kubelet/${file}`), 'utf8');

describe('the shipped files for a broker in front of a kubelet', () => {
  it('patches one volume of a DaemonSet to the directory of the broker, and nothing else', () => {
    const component = parse(text('plugin-daemonset/kustomization.yaml')) as {
      kind: string;
      patches: { patch: string }[];
    };
    assert.equal(component.kind, 'Component');
    assert.equal(component.patches.length, 1);
    const patch = parse(component.patches[0]?.patch ?? '') as { spec: { template: { spec: object } } };
    assert.deepEqual(patch.spec.template.spec, { volumes: [{ name: 'device-plugin', hostPath: { path: ours } }] });
  });

  it('has a policy and a binding to it, which replaces the directory of the kubelet in either spelling', () => {
    const [policy, binding] = parseAllDocuments(text('policy.yaml')).map(
      (document) => document.toJS() as Record<string, never>,
    );
    const { metadata, spec } = policy as unknown as {
      metadata: { name: string };
      spec: { mutations: { patchType: string; jsonPatch: { expression: string } }[] };
    };
    const [mutation] = spec.mutations;
    assert.equal(mutation?.patchType, 'JSONPatch');
    const theirs = kubeletPaths('/var/lib/kubelet').devicePlugins;
    for (const spelled of [`'${theirs}'`, `'${theirs}/'`, `"${ours}"`]) {
      assert.ok(mutation.jsonPatch.expression.includes(spelled), spelled);
    }
    assert.equal((binding as unknown as { spec: { policyName: string } }).spec.policyName, metadata.name);
  });

  it('start the broker before the kubelet, which admits pods at once, and before container engines, which read CDI files', () => {
    const before = words('plugin-broker.service', 'Before');
    for (const engine of ['kubelet', 'docker', 'podman', 'podman-restart', 'containerd'])
      assert.ok(before.includes(`${engine}.service`), engine);
    assert.deepEqual(words('plugin-broker-front.conf', 'Before'), ['kubelet.service']);
  });

  it('let the broker write the directory of the kubelet and that of CDI files, where they are there', () => {
    const { settings } = resolveSettings(formWith(), undefined, { ...somewhere, uid: 0 });
    // /var/run is a link to /run.
    const directories = [settings?.front.kubeletDir, settings?.cdi.dir?.replace(/^\/var/, '')];
    const writable = words('plugin-broker.service', 'ReadWritePaths');
    assert.deepEqual(
      writable,
      directories.map((directory) => `-${directory ?? ''}`),
    );
    assert.deepEqual(words('plugin-broker.service', 'ProtectSystem'), ['strict']);
    // The directory that is there at the start: a kubelet makes its directory later, or makes it anew.
    const kubeletDir = settings?.front.kubeletDir ?? '';
    assert.deepEqual(words('plugin-broker-front.conf', 'ReadWritePaths'), [path.dirname(kubeletDir)]);
    const service =
      readFileSync(shippedFile('systemd', 'plugin-broker-front.conf'), 'utf8').split('[Service]')[1] ?? '';
    assert.match(service, /^ReadWritePaths=/m);
    const made = readFileSync(shippedFile('systemd', 'plugin-broker.tmpfiles.conf'), 'utf8').split('\n');
    assert.ok(made.includes(`d ${kubeletDir} - root root -`), 'one that is there keeps its mode');
  });
});
