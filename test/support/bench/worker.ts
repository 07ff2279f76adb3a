import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** Functions that another process offers: each takes at most one plain value and gives one, at once or later. */
export type Offered<T> = { readonly [K in keyof T]: (argument: never) => unknown };

interface Question {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}
type Answer = { readonly id: number } & ({ readonly value: unknown } | { readonly failure: string });

/** A process that is asked. */
export class Worker<T extends Offered<T>> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (value: unknown) => void; reject: (failure: Error) => void }>();
  #id = 0;

  /** @param file absolute path of a compiled program that calls `offer` */
  constructor(file: string, args: readonly string[] = []) {
    this.#child = fork(file, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' });
    const kill = (): void => void this.#child.kill('SIGKILL');
    process.once('exit', kill);
    this.#child.once('exit', () => {
      process.off('exit', kill);
      for (const { reject } of this.#waiting.values()) reject(new Error(`${file} has ended`));
      this.#waiting.clear();
    });
    this.#child.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ('failure' in answer) waiting?.reject(new Error(answer.failure));
      else waiting?.resolve(answer.value);
    });
  }

  /** Its process id. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Asks, and waits for the answer. */
  ask<K extends keyof T & string>(name: K, ...[argument]: Parameters<T[K]>): Promise<Awaited<ReturnType<T[K]>>> {
    this.#id += 1;
    const id = this.#id;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: (value) => resolve(value as Awaited<ReturnType<T[K]>>), reject });
      this.#child.send({ id, name, argument });
    });
  }

  /** Ends it. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** Answers what the parent asks, as long as it lives. */
export function offer<T extends Offered<T>>(functions: T): void {
  process.once('disconnect', () => process.exit());
  process.on('message', ({ id, name, argument }: Question) => {
    const run = async (): Promise<unknown> => functions[name as keyof T](argument as never);
    run().then(
      (value) => process.send?.({ id, value }),
      (failure: unknown) => process.send?.({ id, failure: failure instanceof Error ? failure.stack : String(failure) }),
    );
  });
}
