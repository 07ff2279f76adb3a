// `front uninstall`
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { uninstallFront } from '../../platform/kubelet/front-uninstall.js';
import { systemClock } from '../../platform/time/system-clock.js';
import { CliError, EXIT } from '../exit.js';
import { counted } from '../../kernel/counted.js';
import { visible } from '../../kernel/visible.js';
import type { Terminal } from '../terminal.js';

/** Adds the command. */
export function addFront(program: Command, terminal: Terminal): void {
  program
    .command('front')
    .summary('the broker in front of a kubelet')
    .description('Commands about the broker in front of a kubelet; `resources` shows how each resource stands there.')
    .command('uninstall')
    .summary("take the broker out of a kubelet's directories")
    .description(
      "Removes the sockets and registry entries of the broker from a kubelet's directories, once no broker serves them any more. Files of others stay.",
    )
    .option('--kubelet-dir <dir>', "the kubelet's directory", '/var/lib/kubelet')
    .option('--force', 'also where the kubelet has such a resource from a plugin by now, which it then loses')
    .action(async ({ kubeletDir, force = false }: { readonly kubeletDir: string; readonly force?: boolean }) => {
      const done = await uninstallFront(kubeletDir, force, { clock: systemClock, pause });
      if ('problem' in done) throw new CliError(EXIT.failed, done.problem);
      for (const file of done.removed) terminal.write(`removed ${visible(file)}\n`);
      terminal.write(`${counted(done.removed.length, 'file')} of the broker removed from ${kubeletDir}\n`);
    });
}
