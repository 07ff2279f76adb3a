import assert from 'node:assert/strict';
import { linkSync, unlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { seededRandom } from '../../support/seeded-random.js';
import type { Clock } from '../../../src/kernel/clock.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { draConnections } from '../../../src/platform/grpc/dra-connection.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { draPluginService } from '../../../src/generated/proto/dra/v1/dra.js';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import { guarding } from '../../support/guarding.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

describe('the connection of a DRA endpoint', () => {
  it('is up without any call, keeps one connection, and follows the service as it goes and comes back', async () => {
    const socket = path.join(tempDir(), 'dra.sock');
    const calls: string[] = [];
    const note = (): void => void calls.push('called');
    const attach: Parameters<typeof PluginServer.listen>[1] = (server) => {
      server.addService(draPluginService, { NodePrepareResources: note, NodeUnprepareResources: note });
    };
    const first = await PluginServer.listen(socket, attach);
    const pinned = pinSocket(socket);
    if ('problem' in pinned) assert.fail(pinned.problem);
    const story: string[] = [];
    const open = draConnections({ clock: systemClock, random: seededRandom(1), pin: pinSocket, guarding });
    const connection = open(pinned, { up: () => story.push('up'), lost: () => story.push('lost') });
    pinned.release();
    await eventually('up', () => story.length === 1);
    assert.equal(first.connections, 1);
    await first.close();
    await eventually('lost', () => story.includes('lost'));
    const second = await PluginServer.listen(socket, attach);
    await eventually('up again', () => story.at(-1) === 'up');
    connection.close();
    await eventually('closed', () => second.connections === 0);
    await second.close();
    assert.deepEqual(calls, []);
    assert.equal(story.at(-1), 'up');
  });

  it('comes back by the name that remains where the one by which it was opened has gone', async (t) => {
    const [socket, other] = [path.join(tempDir(), 'a.sock'), path.join(tempDir(), 'b.sock')];
    const server = createServer((peer) => peers.push(peer));
    const peers: Socket[] = [];
    await new Promise<void>((resolve) => void server.listen(socket, resolve));
    t.after(() => server.close());
    const pinned = pinSocket(socket);
    if ('problem' in pinned) assert.fail(pinned.problem);
    const losses: string[] = [];
    const open = draConnections({ clock: systemClock, random: seededRandom(1), pin: pinSocket, guarding });
    const connection = open(pinned, { up: () => undefined, lost: (why) => losses.push(why) });
    t.after(() => connection.close());
    pinned.release();
    await eventually('dialled', () => peers.length === 1);
    linkSync(socket, other);
    unlinkSync(socket);
    peers[0]?.destroy();
    await eventually('not found', () => losses.includes('its socket file is gone'));
    connection.renamed(other);
    await eventually('dialled again', () => peers.length === 2);
    peers[1]?.destroy();
  });

  it('keeps nothing of connections that were lost, however often its service drops them', async (t) => {
    const added = t.mock.method(AbortSignal.prototype, 'addEventListener');
    const removed = t.mock.method(AbortSignal.prototype, 'removeEventListener');
    /** Listeners that are left at the signal that has most. */
    const most = (): number => {
      const left = new Map<unknown, number>();
      for (const one of added.mock.calls) left.set(one.this, (left.get(one.this) ?? 0) + 1);
      for (const one of removed.mock.calls) left.set(one.this, (left.get(one.this) ?? 0) - 1);
      return Math.max(...left.values());
    };
    const socket = path.join(tempDir(), 'dra.sock');
    const listen = (): Promise<PluginServer> => PluginServer.listen(socket, () => undefined);
    let server = await listen();
    t.after(() => server.close());
    const pinned = pinSocket(socket);
    if ('problem' in pinned) assert.fail(pinned.problem);
    // It pauses ever longer between two attempts.
    const hasty: Clock = { ...systemClock, alarm: (ms, ring) => systemClock.alarm(ms <= 2000 ? 1 : ms, ring) };
    const open = draConnections({ clock: hasty, random: seededRandom(1), pin: pinSocket, guarding });
    let ups = 0;
    const connection = open(pinned, { up: () => (ups += 1), lost: () => undefined });
    t.after(() => connection.close());
    pinned.release();
    await eventually('up', () => ups === 1);
    const first = most();
    for (let times = 2; times < 8; times += 1) {
      await server.close();
      server = await listen();
      await eventually(`up ${String(times)} times`, () => ups === times);
    }
    assert.equal(most(), first);
  });

  it('takes the turn of its user before it dials again', async (t) => {
    const socket = path.join(tempDir(), 'dra.sock');
    let dialled = 0;
    const server = createServer((peer) => {
      dialled += 1;
      peer.destroy();
    });
    await new Promise<void>((resolve) => void server.listen(socket, resolve));
    t.after(() => server.close());
    const pinned = pinSocket(socket);
    if ('problem' in pinned) assert.fail(pinned.problem);
    const waits: number[] = [];
    const watched: Clock = {
      ...systemClock,
      alarm: (ms, ring) => {
        if (ms >= 60_000) waits.push(ms);
        return systemClock.alarm(ms >= 60_000 ? 0 : ms, ring);
      },
    };
    const asked: number[] = [];
    const turns = { ...guarding, comebackMs: (uid: number) => 60_000 * asked.push(uid) };
    const open = draConnections({ clock: watched, random: seededRandom(1), pin: pinSocket, guarding: turns });
    const connection = open(pinned, { up: () => undefined, lost: () => undefined });
    t.after(() => connection.close());
    pinned.release();
    await eventually('dialled three times', () => dialled >= 3);
    assert.deepEqual(new Set(asked), new Set([pinned.uid]));
    assert.deepEqual(
      waits.slice(0, 2).map((ms) => Math.floor(ms / 60_000)),
      [1, 2],
    );
  });
});
