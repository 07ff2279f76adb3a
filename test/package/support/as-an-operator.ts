// The promises of every way to install: a daemon that comes up, takes a plugin in, is ready, and is replaced by the same
// version without a gap.
import assert from 'node:assert/strict';
import { startCommand, type Running } from '../../support/program.js';
import { eventually } from '../../support/eventually.js';
import { done } from './install.js';

const RESOURCE = 'vendor.example/gpu';
const PATIENT = { withinMs: 60_000, everyMs: 100 };

/** The contents of its config file. */
export const CONFIG = 'http: { listen: 127.0.0.1:0 }\n';

/** How the program is started in one installation. */
export interface Installation {
  /** The command and what stands before its arguments. */
  readonly program: readonly string[];
  readonly root: string;
  /** A config file as the program sees it: a port of its own, because an address in use is a trouble that `status` names. */
  readonly config: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Operates an installation from its first start to the end of its daemon.
 *
 * @param upgrade installs the same version once more, under the daemon that runs
 */
export async function operate(
  { program, root, config, env = {} }: Installation,
  upgrade: () => Promise<void>,
): Promise<void> {
  const [command = '', ...before] = program;
  const ask = (...args: readonly string[]): ReturnType<typeof done> =>
    done(command, [...before, ...args, '--root', root], { env });
  const start = (...args: readonly string[]): Running =>
    startCommand(command, [...before, ...args, '--root', root], env);
  const served = async (): Promise<number | undefined> => {
    const { output } = await ask('resources', '-o', 'json');
    const resources = JSON.parse(output) as readonly { name: string; state: string; allocatable: number }[];
    return resources.find(({ name, state }) => name === RESOURCE && state === 'ready')?.allocatable;
  };
  const ready = (running: Running): Promise<unknown> =>
    eventually(
      'status is ready',
      async () => {
        if (running.child.exitCode !== null) throw new Error(running.stderr());
        const { code, output } = await ask('status', '-o', 'json');
        if (code !== 0) throw new Error(output);
        return true;
      },
      PATIENT,
    );
  const running: Running[] = [];
  const begun = (one: Running): Running => {
    running.push(one);
    return one;
  };
  try {
    const first = begun(start('serve', '--config', config));
    await ready(first);
    const plugin = begun(start('sim', 'device', '--resource', RESOURCE, '--devices', '2'));
    await eventually('the plugin is in', async () => (await served()) === 2, PATIENT).catch((error: unknown) => {
      throw new Error(`${first.stderr()}\n${plugin.stdout()}${plugin.stderr()}`, { cause: error });
    });
    const { code, output } = await ask('status');
    assert.equal(code, 0, output);
    // Only where the kernel's word on the caller is heard, through the native module, has a lease an owner.
    const given = await done(command, [...before, 'run', '--root', root, '--device', `${RESOURCE}=1`, '--', 'true'], {
      env,
    });
    assert.equal(given.code, 0, given.output);
    await upgrade();
    const second = begun(start('serve', '--takeover', '--config', config));
    assert.equal((await first.ended).code, 0, first.stderr());
    await ready(second);
    assert.equal(await eventually('it is there as before', served, PATIENT), 2);
    second.child.kill('SIGTERM');
    assert.equal((await second.ended).code, 0, second.stderr());
  } finally {
    for (const one of running) one.child.kill('SIGTERM');
    await Promise.all(running.map(({ ended }) => ended));
  }
}
