// The names the kubelet accepts for extended resources (IsExtendedResourceName): decided here, said in one sentence.

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const NAME_PART = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MAX_PREFIX = 253;
const MAX_NAME_PART = 63;
/** The kubelet checks the name with this prefix in front, as quotas write it. */
const QUOTA_PREFIX = 'requests.';

/**
 * Checks a resource name by the kubelet's rule.
 *
 * @returns why it is not accepted, as one sentence, or undefined when it is
 */
export function checkResourceName(name: string): string | undefined {
  const shown = JSON.stringify(name.slice(0, 128));
  const wrong = (why: string): string => `the resource name ${shown} is not valid: ${why}`;
  const parts = name.split('/');
  if (parts.length !== 2) return wrong('it must have the form vendor-domain/resource');
  if (name.includes('kubernetes.io/')) return wrong('kubernetes.io/ is reserved');
  if (name.startsWith(QUOTA_PREFIX)) return wrong(`a name that begins with ${QUOTA_PREFIX} is a quota`);
  const [vendor = '', resource = ''] = parts;
  const prefix = `${QUOTA_PREFIX}${vendor}`;
  if (prefix.length > MAX_PREFIX) {
    return wrong(`its domain has more than ${String(MAX_PREFIX - QUOTA_PREFIX.length)} characters`);
  }
  if (!prefix.split('.').every((label) => LABEL.test(label))) {
    return wrong('its domain must be lower-case DNS labels joined by dots');
  }
  if (resource.length > MAX_NAME_PART)
    return wrong(`its second part has more than ${String(MAX_NAME_PART)} characters`);
  if (!NAME_PART.test(resource)) {
    return wrong('its second part must be letters, digits, - _ . and begin and end with a letter or digit');
  }
  return undefined;
}
