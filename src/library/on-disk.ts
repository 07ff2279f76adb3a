// Waits for the served state on disk, which comes a moment later: a registration before the plugin is answered, its first list
// after that.
import { readFile } from 'node:fs/promises';
import type { Broker } from './broker-api.js';

/** Beyond this a broker answers although it could not write: it says so itself after 2 s. */
const WRITTEN_MS = 2_500;
const LOOK_MS = 10;

/**
 * Waits until the checkpoint has the list of every plugin whose devices are served now. Never rejects: where that does not
 * come, as on a full disk or without a broker, it gives up after 2.5 s at most.
 *
 * @param checkpoint the file
 */
export async function whenOnDisk(broker: Pick<Broker, 'resources'>, checkpoint: string): Promise<void> {
  const endsAt = performance.now() + WRITTEN_MS;
  const resources = await broker.resources().catch(() => []);
  const served = resources
    .filter(({ state, capacity }) => state === 'ready' && capacity > 0)
    .map(({ plugin }) => plugin);
  for (;;) {
    const written = await listed(checkpoint);
    if (served.every((plugin) => written.has(plugin)) || performance.now() >= endsAt) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

/** The plugins that a checkpoint has with a list, as `TYPE/NAME` (docs/checkpoint-format.md); none where it cannot be read. */
async function listed(file: string): Promise<ReadonlySet<string>> {
  try {
    const { plugins } = JSON.parse(await readFile(file, 'utf8')) as {
      readonly plugins: readonly { readonly type: string; readonly name: string; readonly list?: object }[];
    };
    return new Set(plugins.filter(({ list }) => list !== undefined).map(({ type, name }) => `${type}/${name}`));
  } catch {
    return new Set();
  }
}
