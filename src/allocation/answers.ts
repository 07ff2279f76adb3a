// Plugins' answers to Allocate: checked one by one, then merged into the answer for the owner. Pure.
import type { PluginAnswer } from '../model/lease.js';

/** Everything that one plugin says about using its devices. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * A fully qualified name, vendor/class=name, as CDI 0.5.0 has it: container engines take no other, and a word of a shell holds no
 * other.
 */
const CDI_NAME = new RegExp(
  '^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?=[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$',
);

/** The problem, as the rest of a sentence about the answer. */
export interface AnswerProblem {
  readonly problem: string;
}

/** Why an answer cannot be handed on, or undefined when it can. */
export function answerProblem(answer: PluginAnswer): string | undefined {
  const texts = [
    ...[...answer.envs].flat(),
    ...[...answer.annotations].flat(),
    ...answer.mounts.flatMap(({ containerPath, hostPath }) => [containerPath, hostPath]),
    ...answer.devices.flatMap(({ containerPath, hostPath, permissions }) => [containerPath, hostPath, permissions]),
    ...answer.cdiDevices,
  ];
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MAX_ANSWER_BYTES)
    return `it has ${String(bytes)} bytes, and at most ${String(MAX_ANSWER_BYTES)} are kept`;
  if (texts.some((text) => text.includes('\0'))) return 'a text of it contains a NUL character';
  for (const name of answer.envs.keys()) {
    if (name === '' || name.includes('=')) return `${JSON.stringify(name)} cannot be the name of a variable`;
  }
  const paths = [...answer.mounts, ...answer.devices].flatMap(({ containerPath, hostPath }) => [
    containerPath,
    hostPath,
  ]);
  const relative = paths.find((path) => !path.startsWith('/'));
  if (relative !== undefined) return `${JSON.stringify(relative)} is not an absolute path`;
  const unnamed = answer.cdiDevices.find((name) => !CDI_NAME.test(name));
  if (unnamed !== undefined) return `${JSON.stringify(unnamed)} is no CDI device (vendor/class=name)`;
  const odd = answer.devices.find(({ permissions }) => !/^[rwm]{0,3}$/.test(permissions));
  return odd === undefined
    ? undefined
    : `${JSON.stringify(odd.permissions)} is no set of permissions (some of r, w and m)`;
}

/**
 * Says why the answer of a plugin of an ordinary user cannot be handed on; undefined when it can. Mounts, device nodes and CDI
 * devices reach into the host as root, because root reads CDI files; variables decide which code their owner runs (LD_PRELOAD,
 * PATH and the like), and container engines do as annotations say (hooks, devices). A user that may register a plugin is not trusted
 * with that (SECURITY.md).
 *
 * @param plugin uid of the plugin
 * @param owner uid of the lease's owner
 */
export function reachProblem(answer: PluginAnswer, plugin: number, owner: number): string | undefined {
  const isForeign = owner !== plugin;
  const reaches: readonly (readonly [boolean, string])[] = [
    [answer.mounts.length > 0, 'mounts'],
    [answer.devices.length > 0, 'device nodes'],
    [answer.cdiDevices.length > 0, 'CDI devices'],
    [isForeign && answer.envs.size > 0, `variables for uid ${String(owner)}`],
    [isForeign && answer.annotations.size > 0, `annotations for uid ${String(owner)}`],
  ];
  const [, what] = reaches.find(([has]) => has) ?? [];
  return what === undefined
    ? undefined
    : `it has ${what}, and its plugin runs as uid ${String(plugin)}, which is neither root nor the broker's user nor named for it in rules[].uids; name it there if it may`;
}

/**
 * Merges the answers of one lease.
 *
 * @param answers by resource
 * @param joined variables whose values are joined by comma
 */
export function mergeAnswers(
  answers: readonly { readonly resource: string; readonly answer: PluginAnswer }[],
  joined: readonly string[],
): PluginAnswer | AnswerProblem {
  const envs = new Merged('the variable', new Set(joined));
  const annotations = new Merged('the annotation', new Set());
  const mounts = new Merged('the mount', new Set());
  const devices = new Merged('the device node', new Set());
  for (const { resource, answer } of answers) {
    for (const [name, value] of answer.envs) envs.add(resource, name, value);
    for (const [name, value] of answer.annotations) annotations.add(resource, name, value);
    for (const mount of answer.mounts) mounts.add(resource, mount.containerPath, mount);
    for (const device of answer.devices) devices.add(resource, device.containerPath, device);
  }
  const problem = envs.problem ?? annotations.problem ?? mounts.problem ?? devices.problem;
  if (problem !== undefined) return { problem };
  return {
    envs: envs.values as Map<string, string>,
    annotations: annotations.values as Map<string, string>,
    mounts: [...mounts.values.values()] as PluginAnswer['mounts'],
    devices: [...devices.values.values()] as PluginAnswer['devices'],
    cdiDevices: [...new Set(answers.flatMap(({ answer }) => answer.cdiDevices))],
  };
}

/** Things by name; two of one name must be the same, or be joined. */
class Merged {
  readonly #what: string;
  readonly #joined: ReadonlySet<string>;
  readonly #from = new Map<string, string>();
  readonly values = new Map<string, unknown>();
  problem: string | undefined;

  constructor(what: string, joined: ReadonlySet<string>) {
    this.#what = what;
    this.#joined = joined;
  }

  add(resource: string, name: string, value: unknown): void {
    const known = this.values.get(name);
    if (!this.values.has(name)) {
      this.values.set(name, value);
      this.#from.set(name, resource);
    } else if (JSON.stringify(known) !== JSON.stringify(value)) {
      if (this.#joined.has(name)) this.values.set(name, `${String(known)},${String(value)}`);
      else
        this.problem ??= `${this.#what} ${name} is given by ${this.#from.get(name) ?? ''} and by ${resource}, each otherwise`;
    }
  }
}
