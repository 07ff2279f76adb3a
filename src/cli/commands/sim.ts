// `sim device|csi|dra|kubelet`: simulated plugins, and a simulated kubelet for real ones. Their options come from tables
// of the simulators, which are loaded only when a command line is about them.
import path from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { defaultsOf, duration as parseDuration, type SimOption } from '../../sim/sim-option.js';
import { Ended } from '../exit.js';
import { duration } from '../output/amounts.js';
import { rootOf, type AddressOptions } from '../options.js';
import type { Terminal } from '../terminal.js';

/** Runs a simulator until the signal aborts or it ends by itself; gives the exit code. Its options are those of its table. */
type Run = (options: never, signal: AbortSignal) => Promise<number>;

/** A simulator: its options, and how it runs. */
interface Simulator {
  readonly about: string;
  /** Further text of its help. */
  readonly more?: string;
  /** The meaning of --root, where it is no broker's. */
  readonly rootIs?: string;
  readonly options: () => Promise<readonly SimOption[]>;
  readonly run: () => Promise<Run>;
}

/** The simulators. */
const SIMULATORS: Readonly<Record<string, Simulator>> = {
  device: {
    about: 'a device plugin, at the Register door or in the registry',
    options: async () => (await import('../../sim/device/options.js')).DEVICE_SIM_OPTIONS,
    run: async () => (await import('../../sim/device/run-device-sim.js')).runDeviceSim,
  },
  csi: {
    about: 'a CSI driver, for a registrar or registering by itself',
    options: async () => (await import('../../sim/csi/options.js')).CSI_SIM_OPTIONS,
    run: async () => (await import('../../sim/csi/run-csi-sim.js')).runCsiSim,
  },
  dra: {
    about: 'a DRA driver',
    options: async () => (await import('../../sim/dra/options.js')).DRA_SIM_OPTIONS,
    run: async () => (await import('../../sim/dra/run-dra-sim.js')).runDraSim,
  },
  kubelet: {
    about: "a kubelet's side of device plugins, with pods given on standard input",
    more: 'Pods are lines of JSON: {"create": {"name": "p", "containers": [{"name": "c", "limits": {"vendor.example/gpu": 1}}]}}, {"delete": "default/p"}, {"restart": "default/p/c"}.',
    rootIs: 'directory that stands for /var/lib/kubelet',
    options: async () => (await import('../../sim/kubelet/options.js')).KUBELET_SIM_OPTIONS,
    run: async () => (await import('../../sim/kubelet/run-kubelet-sim.js')).runKubeletSim,
  },
};

/**
 * Adds `sim`.
 *
 * @param whole whether its subcommands are wanted: each costs the loading of its simulator
 */
export async function addSim(program: Command, terminal: Terminal, whole: boolean): Promise<void> {
  const sim = program
    .command('sim')
    .summary('a simulated plugin, well-behaved or not, or a simulated kubelet')
    .description(
      'Runs a simulated plugin, or a simulated kubelet: a real process on real sockets, which tells what it does as JSON lines. By default it behaves well; each option changes that.',
    );
  if (!whole) return;
  for (const [name, simulator] of Object.entries(SIMULATORS)) await addSimulator(sim, name, simulator, terminal);
}

async function addSimulator(sim: Command, name: string, simulator: Simulator, terminal: Terminal): Promise<void> {
  const options = await simulator.options();
  const command = sim
    .command(name)
    .summary(simulator.about)
    .description(
      `Runs ${simulator.about}, until Ctrl-C. Durations are written 250ms, 2s or 5m. ${simulator.more ?? ''}`.trimEnd(),
    )
    .option('--root <dir>', simulator.rootIs ?? 'root directory of the broker whose doors it uses');
  for (const option of options) command.addOption(commanderOption(option));
  command.action(async (given: AddressOptions & Record<string, unknown>) => {
    const base = rootOf(given);
    const doors = {
      dir: path.join(base, 'device-plugins'),
      registry: path.join(base, 'plugins_registry'),
      plugins: path.join(base, 'plugins'),
      podResources: path.join(base, 'pod-resources'),
    };
    const run = await simulator.run();
    const code = await run({ ...defaultsOf(options), ...doors, ...given } as never, terminal.interruption());
    if (code !== 0) throw new Ended(code);
  });
}

/** Defaults are only told here: they are put in where the simulator is started. */
function commanderOption({ flags, help, choices, parse, default: standard }: SimOption): Option {
  const option = new Option(flags, `${help}${defaultText(standard, parse === parseDuration)}`);
  if (choices !== undefined) option.choices(choices);
  if (parse !== undefined) {
    option.argParser((text, before: unknown) => {
      try {
        return parse(text, before ?? standard);
      } catch (failure) {
        throw new InvalidArgumentError((failure as Error).message);
      }
    });
  }
  return option;
}

function defaultText(standard: unknown, isDuration: boolean): string {
  if (isDuration && typeof standard === 'number') return ` (default: ${duration(standard)})`;
  if (typeof standard === 'string' || typeof standard === 'number') return ` (default: ${standard})`;
  return Array.isArray(standard) && standard.length > 0 ? ` (default: ${standard.join(',')})` : '';
}
