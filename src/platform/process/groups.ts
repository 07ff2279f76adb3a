// Groups of the machine, which Node does not look up.
import { readFileSync } from 'node:fs';
import { ifPossible } from '../../kernel/if-possible.js';

/** The number of a group by its name; undefined where there is none of it. */
export function groupId(name: string): number | undefined {
  return groups().find((group) => group.name === name)?.gid;
}

/** The name of a group by its number; undefined where there is none of it. */
export function groupName(gid: number): string | undefined {
  return groups().find((group) => group.gid === gid)?.name;
}

/** Those of group(5); none in an image without users, where only numbers can be used. */
function groups(): readonly { readonly name: string; readonly gid: number }[] {
  const text = ifPossible(() => readFileSync('/etc/group', 'utf8')) ?? '';
  return text.split('\n').flatMap((line) => {
    const [name, , digits] = line.split(':');
    return name !== undefined && digits !== undefined && /^[0-9]+$/.test(digits) ? [{ name, gid: Number(digits) }] : [];
  });
}
