import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import type { FoundSocket } from '../../../src/model/plugin.js';
import { RegistrySockets } from '../../../src/reconcile/registry-sockets.js';
import type { FakeSocket } from '../../support/fake-sockets.js';
import { ReconcileWorld } from '../../support/reconcile-world.js';

/** Registration sockets in whose place a test tells what is there; a plugin that answers registers what it serves. */
class Bed {
  readonly world = new ReconcileWorld();
  /** Paths by which a plugin was asked, in order. */
  readonly asked: string[] = [];
  /** Sockets whose plugin answers nothing yet, by key. */
  readonly silent = new Set<string>();
  readonly #pins = new Map<string, FoundSocket>();
  readonly registry: RegistrySockets;

  constructor() {
    const { world, asked } = this;
    const { roster, reconciler, reports, endings } = world;
    this.registry = new RegistrySockets({
      roster,
      reconciler,
      reports,
      endings,
      handlers: new Map([[world.handler.type, world.handler]]),
      door: {
        attempt: async ({ socket }, signal) => {
          asked.push(socket.path);
          const file = world.sockets.at(socket.path);
          if (file === undefined) return { done: false };
          if (this.silent.has(file.key)) await once(signal, 'abort');
          signal.throwIfAborted();
          return { done: (await world.register(file, { door: 'watcher', endpoint: socket.path, socket }, signal)).ok };
        },
      },
    });
    roster.listeners.follow(this.registry);
  }

  found(path: string): FoundSocket {
    const socket = this.world.sockets.open(path);
    assert.ok(socket !== undefined, `${path} is there`);
    const found = { socket, owner: 4001 };
    this.#pins.set(path, found);
    return found;
  }

  /** A socket appears at a path, and its plugin is asked. */
  async appear(path: string, isSilent = false): Promise<FakeSocket> {
    const file = this.world.sockets.put(path);
    if (isSilent) this.silent.add(file.key);
    this.registry.appeared(this.found(path));
    await this.world.clock.settle();
    return file;
  }

  /** Another socket, whose plugin is silent, takes a path. */
  async replace(path: string): Promise<FakeSocket> {
    const before = this.#pinned(path);
    const file = this.world.sockets.put(path);
    this.silent.add(file.key);
    this.registry.gone(before.socket, true);
    before.socket.release();
    this.registry.appeared(this.found(path));
    await this.world.clock.settle();
    return file;
  }

  /** A socket has gone; the path is the last of its names. */
  gone(path: string): void {
    this.world.sockets.remove(path);
    this.registry.gone(this.#pinned(path).socket, false);
    this.letGo(path);
  }

  /** The name by which a socket was told has gone, another one remains. */
  renamed(path: string, to: string, hasSuccessor = false): void {
    this.registry.renamed(this.found(to), hasSuccessor);
    this.letGo(path);
  }

  /** A socket goes by another name from now on. */
  moves(socket: FakeSocket, path: string, to: string): void {
    this.world.sockets.link(to, socket);
    this.world.sockets.remove(path);
    this.renamed(path, to);
  }

  /** Discovery closes its own descriptor of a path. */
  letGo(path: string): void {
    this.#pinned(path).socket.release();
  }

  #pinned(path: string): FoundSocket {
    const found = this.#pins.get(path);
    assert.ok(found !== undefined, `${path} is pinned`);
    return found;
  }
}

describe('registration sockets', () => {
  it('are asked no more and hold no descriptor once they have gone, whichever of their names went last', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/a', true);
    world.sockets.link('/d/b', socket);
    bed.found('/d/b');
    world.sockets.remove('/d/a');
    bed.letGo('/d/a');
    bed.gone('/d/b');
    assert.deepEqual([world.reconciler.size, world.sockets.openPins], [0, 0]);
    const asked = bed.asked.length;
    bed.silent.clear();
    world.sockets.link('/d/a', socket);
    await world.clock.advance(60_000);
    assert.equal(bed.asked.length, asked);
    assert.equal(world.of(socket), undefined);
  });

  it('leave the plugin at whose path they were without one, whichever of their names went last', async () => {
    const bed = new Bed();
    const { world } = bed;
    const old = await bed.appear('/d/a');
    const young = await bed.replace('/d/a');
    assert.equal(world.stateOf(old), 'orphaned path-taken');
    world.sockets.link('/d/b', young);
    bed.found('/d/b');
    world.sockets.remove('/d/a');
    bed.gone('/d/b');
    assert.equal(world.stateOf(old), 'held socket-removed');
  });

  it('are asked by a name that remains when the one by which they were found goes before they answer', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/tmp', true);
    world.sockets.link('/d/final', socket);
    world.sockets.remove('/d/tmp');
    bed.silent.clear();
    bed.renamed('/d/tmp', '/d/final');
    await world.clock.advance(60_000);
    assert.deepEqual(bed.asked, ['/d/tmp', '/d/final']);
    assert.deepEqual([world.stateOf(socket), world.of(socket)?.socketPath], ['ready registered', '/d/final']);
    world.sockets.remove('/d/final');
    bed.gone('/d/final');
    assert.deepEqual([world.stateOf(socket), world.reconciler.size], ['held socket-removed', 0]);
  });

  it('are not asked again by a name that remains when their plugin serves', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/a');
    bed.moves(socket, '/d/a', '/d/b');
    await world.clock.advance(60_000);
    assert.deepEqual([bed.asked, world.stateOf(socket)], [['/d/a'], 'ready registered']);
  });

  it('have their plugin come back by the name that remains', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/a');
    bed.moves(socket, '/d/a', '/d/b');
    const { socketPath, endpointPath, enrolment } = world.of(socket) ?? {};
    assert.deepEqual([socketPath, endpointPath], ['/d/b', '/d/b']);
    assert.deepEqual([enrolment?.socket.path, enrolment?.endpoint.path], ['/d/b', '/d/b']);
    assert.deepEqual(world.handler.renamedTo, [[world.idOf(socket), '/d/b']]);
    world.lose(socket);
    await world.clock.advance(1000);
    assert.deepEqual([bed.asked, world.stateOf(socket)], [['/d/a'], 'ready confirmed']);
    world.sockets.remove('/d/b');
    bed.gone('/d/b');
    for (const instance of [...world.roster.all()]) world.roster.remove(instance);
    assert.equal(world.sockets.openPins, 0);
  });

  it('have a plugin whose socket has had any number of names let go of it', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/0');
    for (let nth = 0; nth < 30_000; nth++) {
      const [from, to] = [`/d/${String(nth)}`, `/d/${String(nth + 1)}`];
      bed.moves(socket, from, to);
    }
    const [instance] = [...world.roster.all()];
    assert.ok(instance !== undefined);
    assert.equal(instance.enrolment?.socket.retain().path, '/d/30000');
    instance.enrolment.socket.release();
    world.sockets.remove('/d/30000');
    bed.gone('/d/30000');
    world.roster.remove(instance);
    assert.equal(world.sockets.openPins, 0);
  });

  it('have a plugin that was lost before the other name was told of come back by it, too', async () => {
    const bed = new Bed();
    const { world } = bed;
    const socket = await bed.appear('/d/a');
    world.sockets.link('/d/b', socket);
    world.sockets.remove('/d/a');
    world.lose(socket);
    await world.clock.advance(1000);
    assert.equal(world.stateOf(socket), 'held connection-lost');
    bed.renamed('/d/a', '/d/b');
    await world.clock.advance(1000);
    assert.equal(world.stateOf(socket), 'ready confirmed');
  });

  it('leave the plugin whose path they took without one when they go by another name from now on', async () => {
    const bed = new Bed();
    const { world } = bed;
    const old = await bed.appear('/d/a');
    world.sockets.link('/d/b', await bed.replace('/d/a'));
    world.sockets.remove('/d/a');
    bed.renamed('/d/a', '/d/b');
    assert.equal(world.stateOf(old), 'held socket-removed');
  });

  it('leave that plugin to the newcomer which took the path from them in its turn', async () => {
    const bed = new Bed();
    const { world } = bed;
    const old = await bed.appear('/d/a');
    world.sockets.link('/d/b', await bed.replace('/d/a'));
    bed.renamed('/d/a', '/d/b', true);
    assert.equal(world.stateOf(old), 'orphaned path-taken');
    await bed.appear('/d/a');
    assert.equal(world.stateOf(old), 'held socket-removed');
  });
});
