/** Enters a value behind all others, so that the first one is the oldest. Where there are more than `most`, that is forgotten. */
export function enterLast<K, V>(map: Map<K, V>, key: K, value: V, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
