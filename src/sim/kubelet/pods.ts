// Pods as a simulated kubelet is told of them, one JSON object a line:
//   {"create": {"namespace": "default", "name": "p", "containers": [{"name": "c", "limits": {"example.com/x": 1}}]}}
//   {"delete": "default/p"}
//   {"restart": "default/p/c"}   the container ended and is started again
// The pods are kept in a file, which stands for the API server and the container runtime.
import { randomUUID } from 'node:crypto';
import { ifPossible } from '../../kernel/if-possible.js';
import { textOf, writeAnew } from './wary-files.js';

/** One container: its requests, and whether it runs. */
export interface Container {
  readonly name: string;
  /** Count by resource. */
  readonly limits: Readonly<Record<string, number>>;
  state: 'waiting' | 'running';
}

/** One pod. */
export interface Pod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly containers: readonly Container[];
  /** Failed is final: this pod never runs again. */
  phase: 'Pending' | 'Running' | 'Failed';
  message: string;
}

/** The commands of a simulated kubelet. */
export type Command =
  | { readonly kind: 'create'; readonly pod: Pod }
  | { readonly kind: 'delete'; readonly pod: string }
  | { readonly kind: 'restart'; readonly pod: string; readonly container: string };

/** namespace/name of a pod. */
export function nameOf({ namespace, name }: Pick<Pod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** Reads one line. @throws Error with a sentence about the allowed commands */
export function parseCommand(line: string): Command {
  const given = JSON.parse(line) as Readonly<Record<string, unknown>>;
  const { create, delete: gone, restart } = given;
  if (typeof create === 'object' && create !== null) return { kind: 'create', pod: podOf(create) };
  if (typeof gone === 'string') return { kind: 'delete', pod: gone };
  if (typeof restart === 'string') {
    const [namespace, name, container] = restart.split('/');
    if (container !== undefined) return { kind: 'restart', pod: `${namespace ?? ''}/${name ?? ''}`, container };
  }
  throw new Error(
    `${line} is none of {"create": POD}, {"delete": "NAMESPACE/NAME"}, {"restart": "NAMESPACE/NAME/CONTAINER"}`,
  );
}

function podOf(given: object): Pod {
  const { namespace = 'default', name, uid, containers = [] } = given as Partial<Pod>;
  if (typeof name !== 'string' || name === '') throw new Error('a pod needs a name');
  return {
    uid: uid ?? randomUUID(),
    namespace,
    name,
    phase: 'Pending',
    message: '',
    containers: containers.map(({ name: container, limits }) => ({ name: container, limits, state: 'waiting' })),
  };
}

/** The pods of this node by namespace/name, kept in a file. */
export class NodePods {
  readonly #file: string;
  readonly #unwritten: (failure: Error) => void;
  readonly #pods = new Map<string, Pod>();

  /** @param unwritten the file cannot be written, as on a full disk: pods go on in memory */
  constructor(file: string, unwritten: (failure: Error) => void) {
    this.#file = file;
    this.#unwritten = unwritten;
  }

  /** Reads the file. @param reboot its containers have ended */
  restore(reboot: boolean): void {
    for (const pod of read(this.#file)) {
      this.#pods.set(nameOf(pod), pod);
      if (!reboot) continue;
      if (pod.phase === 'Running') pod.phase = 'Pending';
      for (const container of pod.containers) container.state = 'waiting';
    }
  }

  get(name: string): Pod | undefined {
    return this.#pods.get(name);
  }

  all(): Pod[] {
    return [...this.#pods.values()];
  }

  /** Uids of pods that have not ended. */
  active(): Set<string> {
    return new Set(
      this.all()
        .filter(({ phase }) => phase !== 'Failed')
        .map(({ uid }) => uid),
    );
  }

  put(pod: Pod): void {
    this.#pods.set(nameOf(pod), pod);
    this.save();
  }

  remove(name: string): void {
    this.#pods.delete(name);
    this.save();
  }

  /** Writes the changes of a pod. */
  save(): void {
    try {
      writeAnew(this.#file, JSON.stringify({ pods: this.all() }), false);
    } catch (failure) {
      this.#unwritten(failure as Error);
    }
  }
}

function read(file: string): Pod[] {
  return ifPossible(() => (JSON.parse(textOf(file)) as { pods: Pod[] }).pods) ?? [];
}
