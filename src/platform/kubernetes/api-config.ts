// The address of the API server and our credentials: a kubeconfig, or the service account of our pod. The library that reads them
// costs 300 ms and 75 MB, so it is loaded only when something is to be published to Kubernetes.
import { readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import path from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';

/** Where the configuration is. */
export interface ApiConfigSource {
  /** A kubeconfig file; undefined: the service account of the pod we run in. */
  readonly kubeconfig: string | undefined;
  /** Where the files of the service account are looked for instead of below `/`. */
  readonly clusterRoot?: string;
}

/** A configuration that was read. */
export interface ApiConfig {
  /** Address of the API server, without a trailing slash. */
  readonly server: string;
  /** Certificates, credentials and agent for one request. */
  options(): Promise<RequestOptions>;
}

/**
 * Reads the configuration.
 *
 * @throws Error when there is none, or when it cannot be read
 */
export async function loadApiConfig({ kubeconfig, clusterRoot }: ApiConfigSource): Promise<ApiConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  if (kubeconfig !== undefined) {
    config.loadFromFile(kubeconfig);
    await followTokenFiles(config, kubeconfig);
  } else if (process.env['KUBERNETES_SERVICE_HOST'] !== undefined) config.loadFromCluster(clusterRoot ?? '');
  else throw new Error('csi.publish is kubernetes, but csi.kubeconfig is not set and this process runs in no pod');
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(`${kubeconfig ?? 'the service account'} names no cluster for its current context`);
  return {
    server: cluster.server.replace(/\/+$/, ''),
    options: async () => {
      const options: RequestOptions = {};
      await config.applyToHTTPSOptions(options);
      return options;
    },
  };
}

/** The library overlooks `tokenFile` of a kubeconfig, with which tokens are rotated. */
async function followTokenFiles(config: KubeConfig, file: string): Promise<void> {
  const { parse } = await import('yaml');
  const document = parse(readFileSync(file, 'utf8')) as { users?: { name?: string; user?: { tokenFile?: string } }[] };
  for (const { name, user } of document.users ?? []) {
    if (user?.tokenFile === undefined) continue;
    const tokenFile = path.resolve(path.dirname(file), user.tokenFile);
    config.users = config.users.map((known) =>
      known.name === name ? { ...known, authProvider: { name: 'tokenFile', config: { tokenFile } } } : known,
    );
  }
}
