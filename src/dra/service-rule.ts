// Which of the services a DRA driver names is taken. They stand in supported_versions, but are names of services. Pure.

/** The services supported here, best first. */
export const DRA_SERVICES = ['v1.DRAPlugin', 'v1beta1.DRAPlugin'] as const;

/**
 * The best service that the driver offers. The kubelet takes the first of the driver's list;
 * a driver that lists an older one first gets the newer one here.
 */
export function chooseService(offered: readonly string[]): string | undefined {
  return DRA_SERVICES.find((service) => offered.includes(service));
}
