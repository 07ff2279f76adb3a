// Options that may stand before the command, as in `plugin-broker --root DIR status`. They are moved behind it, where each
// command knows them, before anybody looks which command it is.

const WITH_VALUE: ReadonlySet<string> = new Set(['--root', '--address', '-o', '--output']);
const WITH_VALUE_JOINED = /^(?:--(?:root|address|output)=|-o.)/;

/** Commands that have commands below them. A test compares them with the command tree. */
export const BELOW: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['allocations', new Set(['reset'])],
  ['checkpoint', new Set(['show', 'verify'])],
  ['front', new Set(['uninstall'])],
  ['sim', new Set(['csi', 'device', 'dra', 'kubelet'])],
]);

/**
 * The words of a command line with the command first.
 *
 * @param args without the program's own name
 */
export function commandFirst(args: readonly string[]): readonly string[] {
  let at = 0;
  for (let word = args[at]; word !== undefined; word = args[at]) {
    if (WITH_VALUE.has(word)) at += 2;
    else if (WITH_VALUE_JOINED.test(word)) at += 1;
    else break;
  }
  const [first, second = ''] = args.slice(at);
  if (at === 0 || first === undefined) return args;
  const end = at + (BELOW.get(first)?.has(second) === true ? 2 : 1);
  return [...args.slice(at, end), ...args.slice(0, at), ...args.slice(end)];
}
