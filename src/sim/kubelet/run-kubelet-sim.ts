// `sim kubelet`: the kubelet's side of device plugins, without a cluster.
import { createInterface } from 'node:readline';
import { SimLog } from '../sim-log.js';
import { KubeletSim } from './kubelet-sim.js';
import type { KubeletSimOptions } from './options.js';

/** Lines of one event in one second: a node full of plugins lists all at once. */
const LINES_PER_SECOND = 2000;

/**
 * Runs a simulated kubelet until the signal aborts. It logs its actions and observations on standard output, one JSON object a
 * line, and takes pods on standard input (pods.ts).
 *
 * @returns the exit code: 0, or 1 when it could not start
 */
export async function runKubeletSim(options: KubeletSimOptions, signal: AbortSignal): Promise<number> {
  const log = new SimLog((line) => void process.stdout.write(line), LINES_PER_SECOND);
  const kubelet = new KubeletSim(options, (event, facts) => log.say(event, facts));
  const lines = createInterface({ input: process.stdin });
  try {
    await kubelet.start();
    lines.on('line', (line) => kubelet.obey(line));
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    return 0;
  } catch (failure) {
    log.say('failed', { message: (failure as Error).message });
    return 1;
  } finally {
    lines.close();
    process.stdin.destroy();
    await kubelet.stop();
    log.close();
  }
}
