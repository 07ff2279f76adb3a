// The shipped manifests as objects.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { buildRoot } from '../../support/dist.js';

/** A file below deploy/. */
export function shippedFile(...parts: string[]): string {
  return path.join(buildRoot(), 'deploy', ...parts);
}

/** A container of a manifest, as far as tests look at it. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

/** A probe over HTTP. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string | number };
}

/** An object of a manifest, as far as tests look at it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
  readonly spec?: {
    readonly template?: {
      readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
      readonly spec: {
        readonly hostPID?: boolean;
        readonly containers: readonly Container[];
        readonly volumes: readonly {
          readonly name: string;
          readonly hostPath?: { readonly path: string; readonly type: string };
        }[];
      };
    };
  };
}

/** A kustomization. */
export interface Kustomization {
  readonly resources?: readonly string[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly patches?: readonly { readonly path: string }[];
}

/** Paths below deploy/kustomize of all YAML files. */
export function kustomizeFiles(): string[] {
  return readdirSync(shippedFile('kustomize'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => path.join('kustomize', name));
}

/** The documents of one file below deploy/. Fails on YAML errors. */
export function documentsOf(file: string): unknown[] {
  return parseAllDocuments(readFileSync(shippedFile(file), 'utf8')).map((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    return document.toJS() as unknown;
  });
}

/** All Kubernetes objects that are shipped, with their files. */
export function manifests(): { readonly file: string; readonly manifest: Manifest }[] {
  return kustomizeFiles()
    .filter((file) => !['kustomization.yaml', 'plugin-broker.yaml'].includes(path.basename(file)))
    .flatMap((file) => documentsOf(file).map((manifest) => ({ file, manifest: manifest as Manifest })));
}

/** All containers that are shipped, with the object and file they are in. */
export function containers(): { readonly file: string; readonly manifest: Manifest; readonly container: Container }[] {
  return manifests().flatMap(({ file, manifest }) =>
    (manifest.spec?.template?.spec.containers ?? []).map((container) => ({ file, manifest, container })),
  );
}
