// From older formats to the one of this version, one step at a time. A step never needs to know later ones.

/** The members of a checkpoint as parsed, before they are understood. */
export type RawDocument = Readonly<Record<string, unknown>>;

/** Turns the members of format N into those of format N + 1. Pure. */
export type UpgradeStep = (raw: RawDocument) => RawDocument;

/** Format 1 knew no leases: nothing was ever given out. */
const withLeases: UpgradeStep = (raw) => ({ ...raw, ledger: { state: 'ok' }, leases: [] });

/** The steps by the format they start from. */
export const UPGRADES: ReadonlyMap<number, UpgradeStep> = new Map([[1, withLeases]]);

/**
 * Applies the steps from `from` up to `to`.
 *
 * @returns the members in format `to`, or undefined when a step is missing
 */
export function upgrade(
  raw: RawDocument,
  from: number,
  to: number,
  steps: ReadonlyMap<number, UpgradeStep>,
): RawDocument | undefined {
  let members = raw;
  for (let format = from; format < to; format += 1) {
    const step = steps.get(format);
    if (step === undefined) return undefined;
    members = step(members);
  }
  return members;
}
