// `check-config F`
import type { Command } from 'commander';
import { visible } from '../../kernel/visible.js';
import { DEVICE_PLUGIN } from '../../model/ids.js';
import type { PolicySource } from '../../model/settings.js';
import type { ConfigReader } from '../config-reader.js';
import { CliError, EXIT } from '../exit.js';
import { counted } from '../../kernel/counted.js';
import { duration } from '../output/amounts.js';
import { rootOfEnvironment } from '../../model/root.js';
import type { Terminal } from '../terminal.js';

interface CheckOptions {
  readonly root?: string;
  readonly plugin?: string;
  readonly type: string;
  readonly socket: string;
}

/** Adds the command. */
export function addCheckConfig(program: Command, terminal: Terminal, readConfig: ConfigReader): void {
  program
    .command('check-config')
    .argument('<file>', 'YAML file with the settings')
    .summary('check a config file and print what it comes to')
    .description(
      'Checks a config file: prints every problem with its place, or every key with the value it comes to and last, as a comment, that the file is valid, and warns of what has no effect. With --plugin, prints the policy of that plugin instead.',
    )
    .option('--root <dir>', 'root directory, as given to serve (default: $PLUGIN_BROKER_ROOT, or that of the config)')
    .option('--plugin <name>', 'print the policy that a plugin of this name gets')
    .option('--type <type>', 'type of that plugin', DEVICE_PLUGIN)
    .option('--socket <path>', 'socket of that plugin', '')
    .action(async (file: string, options: CheckOptions) => {
      const read = await readConfig(file, options.root ?? rootOfEnvironment(process.env));
      if (!read.ok) {
        for (const problem of read.problems) terminal.complain(problem);
        throw new CliError(EXIT.config, `${file} cannot be used: it has ${counted(read.problems.length, 'problem')}`);
      }
      for (const warning of read.warnings) terminal.complain(`warning: ${warning}`);
      const left =
        options.plugin === undefined || options.socket !== '' ? [] : read.rulesBySocket(options.type, options.plugin);
      if (left.length > 0)
        terminal.complain(`warning: left out, because they go by socket (--socket): ${left.map(visible).join(', ')}`);
      const { stringify } = await import('yaml');
      const shown =
        options.plugin === undefined
          ? { ...read.written, paths: read.settings.paths }
          : pluginPolicy(read.policy, { ...options, plugin: options.plugin });
      terminal.write(stringify(shown));
      // A comment, so that the output stays YAML.
      if (options.plugin === undefined) terminal.write(`# ${verdict(file, read.written.rules.length, read.changed)}\n`);
    });
}

/** One sentence: that the file is valid, and how much it sets. */
function verdict(file: string, rules: number, changed: number): string {
  const settings = `${counted(changed, 'setting')} outside of rules ${changed === 1 ? 'differs' : 'differ'} from the defaults`;
  return `${visible(file)} is valid: it has ${counted(rules, 'rule')} of its own, and ${settings}`;
}

/** The policy of one plugin, with the rules that gave it. */
function pluginPolicy(policy: PolicySource, options: CheckOptions & { readonly plugin: string }): object {
  const { rules, ...rest } = policy.policyFor(options.type, options.plugin, options.socket);
  const about = { plugin: options.plugin, type: options.type, socket: options.socket };
  return { ...about, rules, ...(written(rest) as object) };
}

/** Settings as they are written in the file: milliseconds become durations, and lose the Ms of their name. */
function written(settings: unknown): unknown {
  if (Array.isArray(settings)) return settings.map(written);
  if (typeof settings !== 'object' || settings === null) return settings;
  const pairs = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    pairs.map(([key, value]) => {
      if (key.endsWith('Ms') && typeof value === 'number') return [key.slice(0, -2), duration(value)];
      return [key, isOff(value) ? 'off' : written(value)];
    }),
  );
}

/** `penalty: off` is kept as no strikes, which nobody can write. */
function isOff(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'strikes' in value && value.strikes === 0;
}
