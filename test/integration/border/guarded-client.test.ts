import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { ServiceError } from '@grpc/grpc-js';
import { GRPC_STATUS } from '../../../src/model/reasons.js';
import { GuardedClient } from '../../../src/platform/grpc/guarded-client.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { ANSWER_ATTACKS } from '../../support/http2/answer-attacks.js';
import { HostilePlugin } from '../../support/http2/hostile-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

const asIs = (bytes: Buffer): Buffer => bytes;

/** How a call ended; null: it was answered. */
function called(client: GuardedClient): Promise<ServiceError | null> {
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + 10_000 };
    client.makeUnaryRequest('/t/Unary', asIs, asIs, Buffer.alloc(0), options, resolve);
  });
}

/** The client of `registrar`, `verify`, `sim`, of authors' plugins and of those that ask for devices. */
void describe('the connection of a program beside the daemon', () => {
  const directory = tempDir();
  const clientTo = (name: string): GuardedClient =>
    new GuardedClient(`unix:${path.join(directory, name)}`, systemClock);
  let bystander: HostilePlugin;
  let other: GuardedClient;
  before(async () => {
    bystander = await HostilePlugin.start(path.join(directory, 'b.sock'), {});
    other = clientTo('b.sock');
    assert.equal(await called(other), null);
  });
  after(async () => {
    other.close();
    await bystander.stop();
  });

  for (const { what, run } of ANSWER_ATTACKS) {
    void it(`ends when it is answered with ${what}, and no other one does`, async () => {
      const server = await HostilePlugin.start(path.join(directory, 'p.sock'), { Unary: run });
      const client = clientTo('p.sock');
      // Without a guard Node calls it an internal error where it notices, and otherwise waits for the deadline.
      assert.equal((await called(client))?.code, GRPC_STATUS.UNAVAILABLE);
      await eventually('its server sees the end', () => server.connections[0]?.isClosed === true);
      client.close();
      await server.stop();
      assert.equal(await called(other), null);
      assert.equal(bystander.connections.length, 1);
    });
  }
});
