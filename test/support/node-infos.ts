import type { NodeInfo } from '../../src/csi/node-info.js';

/** The node facts of a driver; members that are not given have a plain value. */
export function info(driver: string, given: Partial<NodeInfo> = {}): NodeInfo {
  return { driver, nodeId: 'n1', topology: [], ...given };
}

/** As publishers are given them. */
export function byName(...infos: readonly NodeInfo[]): Map<string, NodeInfo> {
  return new Map(infos.map((one) => [one.driver, one]));
}

/** A topology of one zone. */
export function zone(value: string): NodeInfo['topology'] {
  return [{ key: 'example.com/zone', value }];
}
