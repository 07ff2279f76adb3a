// Whose word counts for a resource that a kubelet has: names are free to whoever comes first, at the broker as at a kubelet.
import type { LeaseAnswerPorts } from './lease-answers.js';

/**
 * The users of resources of a kubelet.
 *
 * @param front has the resources offered to the kubelet whose answer ours is joined to: Front (front/front); undefined: there is none
 * @param offered the plugins here: OfferedResources (inventory/offered)
 * @param strangerOf the ordinary user of the plugin of an instance
 */
export function resourceUsers(
  front: { isFronted(resource: string): boolean } | undefined,
  offered: { of(resource: string): { readonly instance: { readonly id: string } } | undefined },
  strangerOf: (instanceId: string) => number | undefined,
): Pick<LeaseAnswerPorts, 'strangerOf' | 'isKubelets'> {
  const isFronted = (resource: string): boolean => front?.isFronted(resource) === true;
  const pluginOf = (resource: string): { readonly stranger: number | undefined } | undefined => {
    const served = offered.of(resource);
    return served && { stranger: strangerOf(served.instance.id) };
  };
  return {
    strangerOf: (resource) => (isFronted(resource) ? pluginOf(resource)?.stranger : undefined),
    isKubelets: (resource) => {
      if (isFronted(resource)) return false;
      const plugin = pluginOf(resource);
      return plugin === undefined || plugin.stranger !== undefined;
    },
  };
}
