// Groups of the machine, which Node does not look up.
import { readFileSync } from 'node:fs';

/** The number of a group by its name; undefined where the file has none of it. @param file as group(5) */
export function groupId(name: string, file = '/etc/group'): number | undefined {
  return groups(file).find((group) => group.name === name)?.gid;
}

/** The name of a group by its number; undefined where the file has none of it. @param file as group(5) */
export function groupName(gid: number, file = '/etc/group'): string | undefined {
  return groups(file).find((group) => group.gid === gid)?.name;
}

function groups(file: string): readonly { readonly name: string; readonly gid: number }[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return []; // an image without users: only numbers can be used there
  }
  return text.split('\n').flatMap((line) => {
    const [name, , digits] = line.split(':');
    return name !== undefined && digits !== undefined && /^[0-9]+$/.test(digits) ? [{ name, gid: Number(digits) }] : [];
  });
}
