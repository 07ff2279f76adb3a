import { createInterface } from 'node:readline';
import path from 'node:path';
import { distFile } from './dist.js';
import { eventually } from './eventually.js';
import { startCommand, type Running } from './program.js';

/** A line that the simulated kubelet wrote. */
export type KubeletLine = Readonly<Record<string, unknown>> & { readonly event: string; readonly time: string };

/** `plugin-broker sim kubelet` as a process of its own, below a directory that outlives it. */
export class KubeletProcess {
  /** Stands for /var/lib/kubelet. */
  readonly root: string;
  readonly devicePlugins: string;
  readonly registry: string;
  readonly socket: string;
  /** Everything that all its lives wrote. */
  readonly lines: KubeletLine[] = [];
  #running: Running | undefined;
  /** Where the lines of its present life begin. */
  #lifeAt = 0;

  constructor(root: string) {
    this.root = root;
    this.devicePlugins = path.join(root, 'device-plugins');
    this.registry = path.join(root, 'plugins_registry');
    this.socket = path.join(this.devicePlugins, 'kubelet.sock');
  }

  /** Its process id; 0 when it does not run. */
  get pid(): number {
    return this.#running?.child.pid ?? 0;
  }

  /** Starts it and waits until kubelet.sock is there. */
  async start(...args: readonly string[]): Promise<void> {
    const before = this.lines.length;
    this.#lifeAt = before;
    const running = startCommand(process.execPath, [distFile(), 'sim', 'kubelet', '--root', this.root, ...args]);
    this.#running = running;
    createInterface({ input: running.child.stdout }).on('line', (line) => {
      this.lines.push(JSON.parse(line) as KubeletLine);
    });
    await eventually('the kubelet listens', () => {
      if (running.child.exitCode !== null) throw new Error(running.stderr());
      return this.lines.slice(before).some(({ event }) => event === 'listening');
    });
  }

  /** Ends it. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    running?.child.kill(signal);
    await running?.ended;
  }

  /** Ends it and starts it again. */
  async restart(...args: readonly string[]): Promise<void> {
    await this.end();
    await this.start(...args);
  }

  /** Holds it as it is, or lets it go on. */
  freeze(isFrozen: boolean): void {
    this.#running?.child.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** A pod with one container, which asks for devices. */
  create(name: string, limits: Readonly<Record<string, number>>): void {
    this.#tell({ create: { name, containers: [{ name: 'c', limits }] } });
  }

  delete(name: string): void {
    this.#tell({ delete: `default/${name}` });
  }

  /** Its container ended and is started again. */
  restartContainer(name: string): void {
    this.#tell({ restart: `default/${name}/c` });
  }

  /** Lines of one event, of a pod or resource. */
  of(event: string, subject?: string): KubeletLine[] {
    return this.lines.filter(
      (line) =>
        line.event === event &&
        (subject === undefined || line['resource'] === subject || line['pod'] === `default/${subject}`),
    );
  }

  /** Waits for the nth line of an event. */
  async saw(event: string, subject?: string, nth = 1, withinMs = 10_000): Promise<KubeletLine> {
    return eventually(
      `${String(nth)} x ${event} ${subject ?? ''}`,
      () => {
        const found = this.of(event, subject)[nth - 1];
        if (found === undefined) throw new Error(this.story());
        return found;
      },
      { withinMs },
    );
  }

  /** Devices and healthy ones of a resource, as the newest list or loss in its present life says. */
  listed(resource: string): { devices: number; healthy: number } | undefined {
    const last = this.lines
      .slice(this.#lifeAt)
      .findLast(({ event, resource: of }) => of === resource && (event === 'list' || event === 'disconnected'));
    if (last === undefined) return undefined;
    if (last.event === 'disconnected') return { devices: 0, healthy: 0 };
    return { devices: last['devices'] as number, healthy: last['healthy'] as number };
  }

  /** Its last lines, for errors. */
  story(): string {
    return this.lines
      .slice(-30)
      .map((line) => JSON.stringify(line))
      .join('\n');
  }

  #tell(command: object): void {
    this.#running?.child.stdin.write(`${JSON.stringify(command)}\n`);
  }
}
