// The files that are shipped for Kubernetes are valid by its published schemas.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import {
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1CSIDriver,
  V1DaemonSet,
  V1Namespace,
  V1Service,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import * as models from '@kubernetes/client-node';
import { DaemonSet } from 'kubernetes-models/apps/v1/DaemonSet';
import { ClusterRole } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRole';
import { ClusterRoleBinding } from 'kubernetes-models/rbac.authorization.k8s.io/v1/ClusterRoleBinding';
import { CSIDriver } from 'kubernetes-models/storage.k8s.io/v1/CSIDriver';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { parseAllDocuments } from 'yaml';
import { documentsOf, kustomizeFiles, manifests, shippedFile, type Kustomization, type Manifest } from './manifests.js';

/** One field of a generated model. */
interface Attribute {
  readonly baseName: string;
  readonly type: string;
}
interface Model {
  getAttributeTypeMap(): readonly Attribute[];
}

/** By kind: the class whose schema is the published one, and the model that knows all field names. */
const KINDS: Readonly<
  Record<string, { readonly schema: new (object: never) => { validate(): void }; readonly model: Model }>
> = {
  ClusterRole: { schema: ClusterRole, model: V1ClusterRole },
  ClusterRoleBinding: { schema: ClusterRoleBinding, model: V1ClusterRoleBinding },
  CSIDriver: { schema: CSIDriver, model: V1CSIDriver },
  DaemonSet: { schema: DaemonSet, model: V1DaemonSet },
  Namespace: { schema: Namespace, model: V1Namespace },
  Service: { schema: Service, model: V1Service },
  ServiceAccount: { schema: ServiceAccount, model: V1ServiceAccount },
};

/** Throws for what the schema forbids, and for fields that it does not have. */
function check(manifest: Manifest): void {
  const kind = KINDS[manifest.kind];
  assert.ok(kind !== undefined, `no schema for ${manifest.kind}`);
  new kind.schema(structuredClone(manifest) as never).validate();
  checkFields(manifest, kind.model, manifest.kind);
}

function checkFields(value: unknown, model: Model, where: string): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, held] of Object.entries(value)) {
    const attribute = model.getAttributeTypeMap().find(({ baseName }) => baseName === key);
    assert.ok(attribute !== undefined, `${where} has no field ${key}`);
    const name = /^(?:Array<)?(V1\w+)>?$/.exec(attribute.type)?.[1];
    const inner = name === undefined ? undefined : (models as unknown as Record<string, Model | undefined>)[name];
    if (inner === undefined) continue;
    for (const one of Array.isArray(held) ? (held as unknown[]) : [held]) checkFields(one, inner, `${where}.${key}`);
  }
}

describe('the shipped manifests and the published schemas', () => {
  // The operator of Prometheus publishes the schema of its own kind elsewhere.
  for (const { file, manifest } of manifests().filter(({ manifest: { kind } }) => kind !== 'PodMonitor')) {
    it(`agree: ${manifest.kind} ${String(manifest.metadata?.name)} in ${file}`, () => check(manifest));
  }

  it('monitor the pods that there are, at a port that they have', () => {
    const [monitor, daemonSet] = ['PodMonitor', 'DaemonSet'].map((wanted) =>
      JSON.stringify(manifests().find(({ manifest: { kind } }) => kind === wanted)?.manifest),
    );
    assert.match(monitor ?? '', /"matchLabels":\{"app":"plugin-broker"\}.*"port":"metrics"/);
    assert.match(daemonSet ?? '', /"labels":\{"app":"plugin-broker"\}.*"name":"metrics"/);
  });

  it('disagree after any change for the worse', () => {
    const [daemonSet] = manifests().filter(({ manifest }) => manifest.kind === 'DaemonSet');
    const text = JSON.stringify(daemonSet?.manifest);
    for (const [from, to] of [
      ['"containerPort"', '"containerPrt"'],
      ['"containerPort":9720', '"containerPort":"9720"'],
      ['"selector"', '"selektor"'],
      ['"apps/v1"', '"apps/v2"'],
    ] as const) {
      assert.notEqual(text.replace(from, to), text, from);
      assert.throws(() => check(JSON.parse(text.replace(from, to)) as Manifest), Error, to);
    }
  });

  it('are all reached by kustomizations, which name only files that are there', () => {
    const reached = new Set<string>();
    for (const file of kustomizeFiles().filter((name) => path.basename(name) === 'kustomization.yaml')) {
      const [kustomization] = documentsOf(file) as [Kustomization];
      const folder = path.dirname(file);
      const { resources = [], configMapGenerator = [], patches = [] } = kustomization;
      const named = [
        ...resources,
        ...configMapGenerator.flatMap(({ files }) => files),
        ...patches.map((one) => one.path),
      ];
      for (const name of named) {
        const target = path.join(folder, name);
        reached.add(target.endsWith('.yaml') ? target : path.join(target, 'kustomization.yaml'));
      }
    }
    const there = kustomizeFiles();
    for (const file of reached) assert.ok(there.includes(file), file);
    const roots = there.filter((file) => !reached.has(file));
    assert.deepEqual(
      roots.map((file) => path.basename(file)),
      roots.map(() => 'kustomization.yaml'),
    );
  });

  const kustomize = spawnSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
  const folders = ['base', 'overlays/kubernetes-publishing', 'examples/csi-driver'];
  for (const folder of folders) {
    it(`are put together by kustomize: ${folder}`, { skip: kustomize.status === 0 ? false : 'no kubectl here' }, () => {
      const built = spawnSync('kubectl', ['kustomize', shippedFile('kustomize', folder)], { encoding: 'utf8' });
      assert.equal(built.status, 0, built.stderr);
      const objects = parseAllDocuments(built.stdout).map((document) => document.toJS() as Manifest);
      assert.ok(objects.length > 1);
      for (const object of objects) if (object.kind !== 'ConfigMap') check(object);
    });
  }
});
