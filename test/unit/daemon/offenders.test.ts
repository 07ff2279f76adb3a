import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../../src/model/ids.js';
import { CoreWorld } from '../../support/core-world.js';

void describe('a quarantine', () => {
  void it('closes the session of the process that offended, even if other processes named its endpoint', async () => {
    const world = new CoreWorld();
    const innocent = world.start('a');
    innocent.socket.listener = { uid: 0, pid: Number(innocent.socket.incarnation.ino) };
    const own = Number(innocent.socket.incarnation.ino);
    // Another process of the same user names its endpoint before it does so itself, and floods.
    const stranger: Caller = { uid: 0, gid: 0, pid: 4711, startTime: '9', source: 'peercred' };
    const call = { version: 'v1beta1', endpoint: 'a', resourceName: innocent.name };
    assert.equal((await world.core.registerDoor.register(call, stranger)).ok, true);
    await world.list(innocent, 2);
    const quarantine = { type: 'DevicePlugin', name: innocent.name, uid: 0, lengthMs: 60_000, last: undefined };
    world.core.quarantineResponse.quarantineBegan({ ...quarantine, offenders: [stranger] });
    const state = (): string | undefined => world.core.roster.primaryOf('DevicePlugin', innocent.name)?.state;
    assert.equal(state(), 'ready');
    world.core.quarantineResponse.quarantineBegan({
      ...quarantine,
      offenders: [{ ...stranger, pid: own, startTime: '1' }],
    });
    assert.equal(state(), 'quarantined');
  });
});
