// The sentences about sockets of the registry that are not looked at.

/** A socket for which there is no room. */
export interface Crowded {
  readonly path: string;
  readonly owner: number;
  /** `discovery.maxSockets`, and the quarter of it that an ordinary user may have. */
  readonly maxSockets: number;
  readonly share: number;
  /** What is full: the share of its owner, that of all ordinary users together, or all. */
  readonly full: 'own' | 'ordinary' | 'all';
}

/** The one that keeps it out, which is told once, and why. */
export function noRoom({ path, owner, maxSockets, share, full }: Crowded): readonly [whose: string, why: string] {
  const uid = String(owner);
  if (full === 'own') {
    const why = `plugins_registry holds too many sockets of uid ${uid}: it may have ${String(share)}, a quarter of discovery.maxSockets, and further ones of it are not looked at; find what makes them, or raise it`;
    return [uid, why];
  }
  if (full === 'ordinary') {
    const why = `plugins_registry holds too many sockets of users other than root and the broker: they may have ${String(3 * share)}, three quarters of discovery.maxSockets, and further ones, ${path} for example, are not looked at; find what makes them, or raise it`;
    return [full, why];
  }
  const why = `plugins_registry holds more sockets than discovery.maxSockets (${String(maxSockets)}): further ones, ${path} for example, are not looked at; remove what nobody listens on, or raise it`;
  return [full, why];
}
