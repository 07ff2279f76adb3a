// The shape of a scenario. Adding one is adding a file to scenarios/ and its line to the table in scenarios.ts.
import type { Door } from '../model/plugin.js';
import type { Rig } from './rig.js';
import type { Passed } from './verdict.js';

/** The actions on a plugin, and when its behaviour is good. */
export interface Scenario {
  readonly name: string;
  /** Its effect on the plugin or its registry, in a few words. */
  readonly does: string;
  /** The behaviour that passes, in a few words. */
  readonly passesWhen: string;
  /** The doors at which it says something. */
  readonly doors: readonly Door[];
  /** It is about device lists, which CSI and DRA drivers do not have. */
  readonly isAboutDevices?: boolean;
  /** It starts the plugin's command more than once, which cannot be done to one that runs already. */
  readonly needsCommand?: boolean;
  /** Why a real kubelet never does this to a plugin; then it is not judged by the profile `kubelet`. */
  readonly notByKubelets?: string;
  /** Its duration with a well-behaved plugin: the longest is begun first. */
  readonly seconds: number;
  /**
   * Runs it.
   *
   * @param rig broker and plugin, neither of them started
   * @returns the evidence: one sentence without a full stop about the observations, with a code where it is not `ok`
   * @throws Failed with the evidence against the plugin; Skipped when it says nothing about this plugin; BrokerFault
   */
  run(rig: Rig): Promise<string | Passed>;
  /** How an author mends a plugin that fails it, in Markdown: a paragraph, then Go and Python. */
  readonly mend: Mend;
}

/** How a plugin that fails a scenario is mended. */
export interface Mend {
  /** One paragraph. */
  readonly how: string;
  /** The lines that an author would write. */
  readonly go: string;
  readonly python: string;
}

/** Both doors. */
export const ANY_DOOR: readonly Door[] = ['register', 'watcher'];
