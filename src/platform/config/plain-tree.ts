// What YAML can say and no configuration is: values that contain themselves (aliases to an anchor around them), and trees
// too deep or too large to be walked by whoever checks them.

/** Levels that a value may have; the deepest setting has six. */
const DEEPEST = 32;
/** Values in all, those of aliases counted wherever they stand. */
const MOST_VALUES = 100_000;

/** Why a value cannot be a configuration, whatever its keys are; undefined: it is a plain tree. */
export function unreadableShape(value: unknown): string | undefined {
  const around: unknown[] = [];
  let values = 0;
  const walk = (inner: unknown): string | undefined => {
    values += 1;
    if (values > MOST_VALUES) return `it has more than ${String(MOST_VALUES)} values`;
    if (typeof inner !== 'object' || inner === null) return undefined;
    if (around.includes(inner)) return 'a value contains itself, by an alias to an anchor around it';
    if (around.length === DEEPEST) return `it is nested deeper than ${String(DEEPEST)} levels`;
    around.push(inner);
    const parts: Iterable<unknown> =
      inner instanceof Map || inner instanceof Set ? [...inner].flat() : Object.values(inner);
    for (const part of parts) {
      const why = walk(part);
      if (why !== undefined) return why;
    }
    around.pop();
    return undefined;
  };
  return walk(value);
}
