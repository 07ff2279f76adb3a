import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { KeptDoor } from '../../../src/platform/listeners/kept-door.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { tempDir } from '../../support/temp-dir.js';

function isAnswered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(socket);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', () => resolve(false));
  });
}

describe('a socket that is kept', () => {
  const open: KeptDoor[] = [];
  after(() => Promise.all(open.map((one) => one.close(() => 0))));
  const kept = (directory: string, why?: () => string | undefined) => {
    const told: (string | undefined)[] = [];
    const socket = path.join(directory, 'some.sock');
    const listener = new KeptDoor(
      {
        settings: { discovery: { rescanMs: 10 } },
        clock: systemClock,
        ...{ ownUid: 0, userOf: (uid: number) => uid },
        gate: {
          accept: (one) => {
            one.destroy();
            return undefined;
          },
        },
        acceptFailed: () => undefined,
        degraded: (one) => told.push(one),
      },
      {
        streams: 1,
        place: () => {
          const problem = why?.();
          if (problem !== undefined) throw new Error(problem);
          return { path: socket, access: { mode: 0o600 }, replaces: false };
        },
        movedAside: () => undefined,
        serve: () => () => undefined,
      },
    );
    open.push(listener);
    return { listener, socket, told };
  };

  it('is made again when it was removed', async () => {
    const { listener, socket, told } = kept(tempDir());
    await listener.open();
    assert.ok(await isAnswered(socket));
    rmSync(socket);
    await eventually('it is back', () => isAnswered(socket));
    assert.deepEqual(told, [undefined, undefined]);
  });

  it('is made again when something else got its name, which is kept aside', async () => {
    const { listener, socket } = kept(tempDir());
    await listener.open();
    writeFileSync(`${socket}.other`, 'not a socket');
    renameSync(`${socket}.other`, socket);
    await eventually('it is back', () => isAnswered(socket));
  });

  it('that cannot be made is told with why, and made once it can be', async () => {
    const root = tempDir();
    const directory = path.join(root, 'missing');
    const { listener, socket, told } = kept(directory);
    await listener.open();
    assert.match(told.at(-1) ?? '', /cannot listen on .*missing/);
    mkdirSync(directory);
    await eventually('it is there', () => isAnswered(socket));
    assert.equal(told.at(-1), undefined);
  });

  it('that cannot be described now is told and tried again', async () => {
    let problem: string | undefined = 'there is no such group';
    const { listener, socket, told } = kept(tempDir(), () => problem);
    await listener.open();
    assert.deepEqual(told, ['there is no such group']);
    problem = undefined;
    await eventually('it is there', () => isAnswered(socket));
  });

  it('is not made again once it was closed, even while it is being made', async () => {
    const { listener, socket, told } = kept(tempDir());
    const opening = listener.open();
    const closing = listener.close(() => 0);
    await opening;
    await closing;
    assert.equal(await isAnswered(socket), false);
    assert.deepEqual(told, []);
  });
});
