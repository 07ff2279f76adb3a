// The daemon for a program that tests plugins against it (`verify`, the library): it obeys its parent process, disturbs plugins
// as that orders, and tells it what happens. Arguments are those of `serve`, and `--temporary`.
import { parseArgs } from 'node:util';
import { loadDaemon } from './daemon-bundle.js';
import type { AssembleParts } from './daemon/assemble.js';
import type { Daemon } from './daemon/daemon.js';
import { FaultPort } from './faults/fault-port.js';
import type { FaultOrder } from './model/fault-port.js';
import { removeWhenAbandoned } from './platform/process/abandoned-root.js';
import { parentChannel } from './platform/process/parent-channel.js';
import { systemClock as clock } from './platform/time/system-clock.js';
import { systemRandom as random } from './platform/time/system-random.js';

/** For the library: the program that made the root may be killed before it removes it. */
const TEMPORARY = 'temporary';

function removeTemporaryRoot(args: string[]): void {
  const options = { [TEMPORARY]: { type: 'boolean' }, root: { type: 'string' } } as const;
  const { root, [TEMPORARY]: isTemporary } = parseArgs({ args, options, strict: false }).values;
  if (isTemporary === true && typeof root === 'string') removeWhenAbandoned(root);
}

async function main(): Promise<void> {
  const args = process.argv.slice(3);
  removeTemporaryRoot(args);
  const channel = parentChannel();
  const faults = new FaultPort({ clock, random, tell: (news, left) => channel.send(news, left) });
  // The program speaks first: its orders count from the start.
  await channel.listen((order) => faults.obey(order as FaultOrder));
  const { serve, assemble } = loadDaemon();
  const disturbed = (parts: AssembleParts): Daemon => {
    const daemon = assemble({
      ...parts,
      interpose: (ports) => faults.disturb(ports),
      phaseChanged: (view) => {
        parts.phaseChanged(view);
        faults.phase(view.phase);
      },
    });
    faults.follow(daemon.broker.core, daemon.journal);
    return daemon;
  };
  const words = args.filter((word) => word !== `--${TEMPORARY}`);
  await serve(words, disturbed, (address) => faults.http(address));
}

void main();
