// Somebody who may write a directory of the broker and means no good: node name-exchanger.js UID WORK …
//   mode DIRECTORY VICTIM   removes kubelet.sock again and again, and puts links to VICTIM in the place of what the broker
//                           is about to give that name
//   parent DIRECTORY OTHER  exchanges DIRECTORY for a link to OTHER and back, as fast as it can, after odd moments
//   take NAME               makes directories called NAME, as fast as it can
//   listen SOCKET           listens on SOCKET
// It becomes that user only after its code is loaded, which that user may not be allowed to read.
import { lstatSync, mkdirSync, readdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';

const [uid = '', work = '', place = '', other = ''] = process.argv.slice(2);
if (process.getuid?.() === 0) {
  process.setgroups?.([Number(uid)]);
  process.setgid?.(Number(uid));
  process.setuid?.(Number(uid));
}

function attempt(deed: () => void): void {
  try {
    deed();
  } catch {
    // the broker was faster
  }
}

/** How long it leaves a directory in its place at most: about as long as the broker works in it. */
const LONGEST_DWELL_MS = 0.2;

const isThere = (file: string) => lstatSync(file, { throwIfNoEntry: false });
/** Names of the broker's that were seen; some it uses again. */
const seen = new Set<string>();
let counter = 0;

function exchange(file: string): void {
  const status = isThere(file);
  if (status === undefined || status.isSymbolicLink()) return;
  counter += 1;
  attempt(() => {
    if (status.isDirectory()) renameSync(file, path.join(place, `.taken-${String(counter)}`));
    else unlinkSync(file);
    symlinkSync(other, file);
  });
}

/** Looks often at few names: the moment between the making and the use of one is short. */
function exchangeNames(): void {
  const kubelet = path.join(place, 'kubelet.sock');
  if (isThere(kubelet) !== undefined) attempt(() => unlinkSync(kubelet));
  for (const name of readdirSync(place)) if (name.startsWith('.pb-')) seen.add(path.join(place, name));
  for (let turn = 0; turn < 1000; turn += 1) for (const file of [...seen].slice(-2)) exchange(file);
}

/** An odd moment: what comes next falls anywhere in the broker's work. */
function dwell(): void {
  const until = performance.now() + Math.random() * LONGEST_DWELL_MS;
  while (performance.now() < until);
}

if (work === 'listen') createServer().listen(place, () => process.stdout.write('listening\n'));
else {
  process.stdout.write('begun\n');
  for (;;) {
    if (work === 'mode') exchangeNames();
    else if (work === 'take') attempt(() => mkdirSync(place));
    else {
      attempt(() => renameSync(place, `${place}-aside`));
      attempt(() => symlinkSync(other, place));
      attempt(() => unlinkSync(place));
      attempt(() => renameSync(`${place}-aside`, place));
      dwell();
    }
  }
}
