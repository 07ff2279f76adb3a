// The name of a CSI or DRA driver. A rule of the model because the daemon checks the names of registrations and the registrar
// checks a name that it uses for a file.

/** CSI specification: 63 characters or less. */
const MAX_DRIVER_NAME = 63;

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;

/**
 * Checks a driver name as the API server checks the name of a CSIDriver: a DNS subdomain of at most 63 characters, after
 * lower-casing.
 *
 * @returns the problem, as the end of a sentence that begins with the name; undefined when there is none
 */
export function driverNameProblem(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > MAX_DRIVER_NAME) return `has ${name.length} characters, and ${MAX_DRIVER_NAME} are allowed`;
  // Checked before lower-casing, because some characters outside ASCII become ASCII by it.
  const isDomain =
    /^[-.a-zA-Z0-9]+$/.test(name) &&
    name
      .toLowerCase()
      .split('.')
      .every((label) => DNS_LABEL.test(label));
  return isDomain
    ? undefined
    : 'is not in domain notation: letters, digits, dashes and dots, each part beginning and ending with a letter or digit';
}
