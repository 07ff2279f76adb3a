// Long work in short slices, so that calls in between hardly notice it.
import { performance } from 'node:perf_hooks';
import process from 'node:process';

/** How long it has the loop at a time, milliseconds: well below the duration of a call. */
const SLICE_MS = 0.25;
/** A turn of the loop in which nobody else does anything is shorter than this, milliseconds. */
const IDLE_TURN_MS = 0.1;
/** How long others are left alone where they do something, milliseconds: a call goes through the loop some forty times. */
const REST_MS = 2;

/**
 * Makes a function that long work calls at each small step.
 *
 * @returns undefined where the work may go on, or a promise that it has to wait for
 */
export function slices(): () => Promise<void> | undefined {
  let began = performance.now();
  const rest = (resolve: () => void): void => {
    const goOn = (): void => {
      began = performance.now();
      resolve();
    };
    const left = performance.now();
    const { user, system } = process.cpuUsage();
    setImmediate(() => {
      // Where the machine gave the processor to other programs a turn is long, and nobody here did anything.
      const used = process.cpuUsage();
      const isIdle = used.user - user + used.system - system < IDLE_TURN_MS * 1000;
      if (isIdle || performance.now() - left < IDLE_TURN_MS) goOn();
      else setTimeout(goOn, REST_MS);
    });
  };
  return () => (performance.now() - began < SLICE_MS ? undefined : new Promise(rest));
}
