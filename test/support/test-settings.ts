import { makeGeneration } from '../../src/config/live-config.js';
import type { PluginPolicy, Settings } from '../../src/model/settings.js';
import { defaultForm } from '../../src/platform/config/compiled-form.js';
import { compileGlob } from '../../src/platform/config/globs.js';
import { hostFacts } from '../../src/platform/config/host-facts.js';

/** The default settings below a root, and the policy that goes with them. */
export function loadDefaults(root: string): {
  settings: Settings;
  policyFor: (type: string, name: string, socket: string) => PluginPolicy;
} {
  const generation = makeGeneration(defaultForm, root, hostFacts(), compileGlob);
  return {
    settings: generation.settings,
    policyFor: (type, name, socket) => generation.policy.policyFor(type, name, socket),
  };
}
