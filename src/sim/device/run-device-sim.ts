// `sim device`: a device plugin that behaves as its options say.
import { spawn, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import { SimLog } from '../sim-log.js';
import { connectLoop } from './connect-loop.js';
import { crashLoop } from './crash-loop.js';
import { DeviceSim } from './device-sim.js';
import type { DeviceSimOptions } from './options.js';

/** Marks the processes that a crash loop starts: they live once. */
const LIFE_MARK = 'PLUGIN_BROKER_SIM_LIFE';
/** The exit code that a shell reports for a process that was killed. */
const KILLED = 137;

/** The simulation's ports to its process. */
export interface SimProcess {
  /** Writes one line with its end. */
  readonly write: (line: string) => void;
  /** Ends the process on the spot: nothing is closed, sockets stay where they are. */
  readonly die: (code: number) => void;
  /** Whether a crash loop started this process. */
  readonly isOneLife: boolean;
  /** Starts this very command again as one life of a crash loop. */
  readonly startLife: () => ChildProcess;
}

/** The process that runs this. */
function simProcess(): SimProcess {
  return {
    write: (line) => void process.stdout.write(line),
    die: (code) => process.exit(code),
    isOneLife: process.env[LIFE_MARK] !== undefined,
    startLife: () =>
      spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, [LIFE_MARK]: '1' },
      }),
  };
}

/**
 * Runs a simulated device plugin until the signal aborts or it ends by itself. It logs its actions and observations on standard
 * output, one JSON object a line.
 *
 * @returns the exit code: 0, the one of its options, 1 when it gave up, 2 when it crashed
 */
export async function runDeviceSim(
  options: DeviceSimOptions,
  signal: AbortSignal,
  around: SimProcess = simProcess(),
): Promise<number> {
  const log = new SimLog(around.write);
  const { crashEvery, connectEvery, connectHold } = options;
  log.say('started', { resource: options.resource, door: options.door });
  try {
    if (connectEvery !== undefined) {
      const target = options.kubeletSocket ?? path.join(options.dir, 'kubelet.sock');
      await connectLoop(target, connectEvery, connectHold, log, signal);
      return 0;
    }
    if (crashEvery !== undefined && !around.isOneLife) {
      await crashLoop(around.startLife, log, signal);
      return 0;
    }
    const end = await new DeviceSim(crashEvery === undefined ? options : oneLife(options, crashEvery), log).run(signal);
    log.close();
    if (end.isAbrupt) around.die(end.code === 0 ? KILLED : end.code);
    return end.code;
  } finally {
    log.close();
  }
}

function oneLife(options: DeviceSimOptions, crashEvery: number): DeviceSimOptions {
  return { ...options, socketName: options.socketName ?? 'crash-{pid}.sock', exitAfter: crashEvery, leave: 'abrupt' };
}
