import { EventEmitter } from 'node:events';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { registrationService as pluginRegistrationService } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { runRegistrar } from '../../../src/registrar/registrar.js';
import type { CsiSimOptions } from '../../../src/sim/csi/options.js';
import { runCsiSim } from '../../../src/sim/csi/run-csi-sim.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';
import { csiSimOptions } from '../../support/sim-options.js';

/** The name of the simulated driver. */
export const DRIVER = 'csi.sim.example.com';

/** Directories of a test, a simulated driver, and registrars inside this process. */
export class Rig {
  readonly folder = tempDir();
  readonly registry = path.join(this.folder, 'r');
  readonly csiSocket = path.join(this.folder, 'c.sock');
  readonly socket = path.join(this.registry, `${DRIVER}-reg.sock`);
  readonly #stops: (() => Promise<unknown>)[] = [];

  constructor() {
    mkdirSync(this.registry);
  }

  /** The flags that every run has. */
  get flags(): string[] {
    return [
      `--csi-address=${this.csiSocket}`,
      '--kubelet-registration-path=/var/lib/kubelet/plugins/x/csi.sock',
      `--plugin-registration-path=${this.registry}`,
    ];
  }

  /** Starts a simulated driver and waits until it serves. */
  async driver(given: Partial<CsiSimOptions> = {}): Promise<{ stop: () => Promise<unknown> }> {
    const halt = new AbortController();
    const lines: string[] = [];
    const options = csiSimOptions({ plugins: this.folder, registry: this.registry, socket: this.csiSocket, ...given });
    const around = { write: (line: string) => void lines.push(line), die: () => undefined };
    const ended = runCsiSim(options, halt.signal, around);
    const stop = (): Promise<unknown> => {
      halt.abort();
      return ended;
    };
    this.#stops.push(stop);
    await eventually('the driver serves', () => lines.some((line) => line.includes('"serving"')));
    return { stop };
  }

  /** Starts a registrar in this process. */
  start(...args: string[]): RunningRegistrar {
    const running = new RunningRegistrar(args);
    this.#stops.push(() => running.stop());
    return running;
  }

  /** Starts a registrar and waits for its socket. */
  async startReady(...args: string[]): Promise<RunningRegistrar> {
    const running = this.start(...this.flags, ...args);
    await running.says('Registration socket is ready');
    return running;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
  }
}

/** A registrar inside this process. */
export class RunningRegistrar {
  out = '';
  err = '';
  readonly #signals = new EventEmitter();
  readonly code: Promise<number>;

  constructor(args: readonly string[]) {
    this.code = runRegistrar(args, {
      program: 'me',
      version: '1.2.3',
      argv: ['me', ...args],
      pid: 42,
      writeOut: (text) => void (this.out += text),
      writeErr: (text) => void (this.err += text),
      onSignal: (told) => {
        this.#signals.on('signal', told);
        return () => this.#signals.off('signal', told);
      },
    });
  }

  /** Waits for words in its log. */
  async says(words: string): Promise<void> {
    await eventually(`"${words}" in:\n${this.err}`, () => this.err.includes(words));
  }

  /** Does as SIGTERM does; nothing when it has ended. */
  stop(signal: 'SIGTERM' | 'SIGINT' = 'SIGTERM'): Promise<number> {
    this.#signals.emit('signal', signal);
    return this.code;
  }
}

/** Calls a registration socket as a kubelet does. */
export async function callRegistrar<Method extends keyof typeof pluginRegistrationService>(
  socket: string,
  method: Method,
  request: object = {},
): Promise<ReturnType<(typeof pluginRegistrationService)[Method]['responseDeserialize']>> {
  const client = new Client(`unix:${socket}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  const { path: name, requestSerialize, responseDeserialize } = pluginRegistrationService[method];
  type Answer = ReturnType<(typeof pluginRegistrationService)[Method]['responseDeserialize']>;
  try {
    return await new Promise<Answer>((resolve, reject) => {
      const answered = (failure: ServiceError | null, answer?: object): void => {
        if (answer === undefined) reject(failure ?? new Error('no answer'));
        else resolve(answer as Answer);
      };
      const deadline = Date.now() + 5000;
      const serialize = requestSerialize;
      client.makeUnaryRequest(name, serialize, responseDeserialize, request, { deadline }, answered);
    });
  } finally {
    client.close();
  }
}
