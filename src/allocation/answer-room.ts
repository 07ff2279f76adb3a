// What plugins answered stands in the checkpoint, which is read whole at a start: all answers together have a bound.
import type { AllocationRefusal } from '../model/allocation-reasons.js';
import type { PluginAnswer } from '../model/lease.js';
import type { Ledger } from './ledger.js';

/** As JSON. Half of the largest checkpoint that a start reads; a thousand leases of real plugins take a few hundred KiB. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Knows how much of it is taken. */
export class AnswerRoom {
  readonly #ledger: Ledger;
  readonly #known = new WeakMap<PluginAnswer, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Why an answer cannot be kept beside those of all leases, or undefined when it can. */
  refusalOf(answer: PluginAnswer): AllocationRefusal | undefined {
    let taken = 0;
    for (const { lease } of this.#ledger.all()) taken += this.#bytesOf(lease.answer);
    const bytes = this.#bytesOf(answer);
    if (taken + bytes <= MAX_BYTES) return undefined;
    const message = `the answer of its plugins has ${String(bytes)} bytes, those of all leases have ${String(taken)}, and the checkpoint takes ${String(MAX_BYTES)}`;
    return { code: 'LEASES_FULL', message };
  }

  #bytesOf(answer: PluginAnswer): number {
    const known = this.#known.get(answer);
    if (known !== undefined) return known;
    const { envs, mounts, devices, annotations, cdiDevices } = answer;
    const bytes = Buffer.byteLength(JSON.stringify([[...envs], mounts, devices, [...annotations], cdiDevices]));
    this.#known.set(answer, bytes);
    return bytes;
  }
}
