import path from 'node:path';
import type { BrokerProcess } from './broker-process.js';
import { FakePlugin, type FakePluginOptions } from './fake-plugin.js';

/** A plugin inside the test's process that has registered with a broker, and whose list is in the checkpoint. */
export async function servedPlugin(
  broker: BrokerProcess,
  options: Omit<FakePluginOptions, 'socket'>,
): Promise<FakePlugin> {
  const plugin = await FakePlugin.start({ socket: path.join(broker.devicePlugins, 'gpu.sock'), ...options });
  await plugin.register(broker.kubeletSocket);
  await broker.onDisk(plugin.resource);
  return plugin;
}
