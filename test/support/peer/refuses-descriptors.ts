import { loadLibc } from '../../../src/platform/peer/libc.js';

/** Why no test can see that descriptors are refused here; false where it can. */
export function refusesNone(): string | false {
  const libc = loadLibc();
  const made = libc?.socketWithoutDescriptors();
  if (typeof made === 'number') libc?.close(made);
  return typeof made === 'number' ? false : 'the kernel is older than Linux 6.16, or koffi is not there';
}
