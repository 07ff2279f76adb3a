import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { uninstallFront } from '../../../src/platform/kubelet/front-uninstall.js';
import { kubeletPaths, namesOf } from '../../../src/platform/kubelet/front-paths.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { nextTurn } from '../../../src/platform/time/next-turn.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { kubeletSockets } from '../../support/kubelet-sockets.js';
import { tempDir } from '../../support/temp-dir.js';

/** The name of a socket in a private folder of a broker, by its form. */
const OWN_FORM = '.s0123456789ab';

// A user that may write a directory may give it any name: a private folder of another program of our user, by ours.
void describe('a private folder of another program under the name of one of ours', () => {
  const brokers: BrokerProcess[] = [];
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) server.close();
    await Promise.all(brokers.splice(0).map((one) => one.close()));
  });

  function broker(): BrokerProcess {
    const one = new BrokerProcess(tempDir(), { discovery: { rescan: '100ms' } });
    brokers.push(one);
    mkdirSync(one.devicePlugins);
    return one;
  }

  function foreignFolder(parent: string, name: string): string {
    const folder = path.join(parent, name);
    mkdirSync(folder);
    chmodSync(folder, 0o700);
    return folder;
  }

  async function listen(file: string): Promise<void> {
    const server = createServer((connection) => connection.destroy());
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(file, resolve));
  }

  /** A socket on which nobody listens any more: closing removes the name that it was bound to. */
  async function deadSocket(file: string): Promise<void> {
    await listen(`${file}-bound`);
    linkSync(`${file}-bound`, file);
    await new Promise((resolve) => servers.pop()?.close(resolve));
  }

  async function isMadeAgain({ kubeletSocket }: BrokerProcess): Promise<void> {
    rmSync(kubeletSocket);
    await eventually('kubelet.sock is made again', () => existsSync(kubeletSocket));
  }

  void it('is not emptied when kubelet.sock is made again, nor at a start', async () => {
    const one = broker();
    await one.start();
    const folder = foreignFolder(one.devicePlugins, '.pb-listen-AAAAAA');
    writeFileSync(path.join(folder, 'secret.key'), 'key');
    await deadSocket(path.join(folder, 'private.sock'));
    await deadSocket(path.join(folder, OWN_FORM));
    const before = readdirSync(folder);
    await isMadeAgain(one);
    assert.deepEqual(readdirSync(folder), before);
    await one.end('SIGTERM');
    await one.start();
    assert.deepEqual(readdirSync(folder), before);
    await one.end('SIGTERM');
  });

  void it('with a directory in it keeps neither kubelet.sock nor a start from being made', async () => {
    const one = broker();
    await one.start();
    const named = ['directory', OWN_FORM, '.pb-listen', '.pb-kept', '1-directory'];
    const folders = named.flatMap((inside, at) =>
      [`.pb-listen-BBBBB${at}`, `.pb-kept-BBBBB${at}`].map((name) => {
        const folder = foreignFolder(one.devicePlugins, name);
        mkdirSync(path.join(folder, inside));
        return { folder, inside };
      }),
    );
    await isMadeAgain(one);
    await one.end('SIGTERM');
    await one.start();
    await one.end('SIGTERM');
    for (const { folder, inside } of folders) assert.deepEqual(readdirSync(folder), [inside]);
  });

  void it('has none of its sockets put where others reach them', async () => {
    const one = broker();
    const folder = foreignFolder(one.devicePlugins, '.pb-kept-CCCCCC');
    await listen(path.join(folder, '1-out.sock'));
    const { ino } = statSync(path.join(folder, '1-out.sock'), { bigint: true });
    linkSync(path.join(folder, '1-out.sock'), path.join(folder, `${ino}-ino.sock`));
    await one.start();
    assert.deepEqual(readdirSync(one.devicePlugins).sort(), ['.pb-kept-CCCCCC', 'kubelet.sock']);
    assert.deepEqual(readdirSync(folder).sort(), ['1-out.sock', `${ino}-ino.sock`].sort());
    await one.end('SIGTERM');
  });

  void it('is no folder of the front: nothing is served in it, and nothing of it removed', async () => {
    const kubelet = tempDir();
    const paths = kubeletPaths(kubelet);
    mkdirSync(paths.devicePlugins);
    chmodSync(paths.devicePlugins, 0o755);
    const resource = 'example.com/gpu';
    const folder = foreignFolder(paths.devicePlugins, 'plugin-broker');
    for (const name of ['private.sock', namesOf(resource).socket]) await deadSocket(path.join(folder, name));
    const before = readdirSync(folder);
    const place = kubeletSockets(resource, kubelet);
    const ensured = await place.ensure().catch((failure: unknown) => failure);
    await nextTurn(); // directories are looked at once a turn
    chmodSync(paths.devicePlugins, 0o757);
    const unsound = await place.ensure().catch((failure: unknown) => failure);
    await nextTurn();
    chmodSync(paths.devicePlugins, 0o775);
    const shared = await place.ensure().catch((failure: unknown) => failure);
    place.close(false);
    assert.match(String(shared), /device-plugins may be written by group \d+, or by those that its ACL names/);
    assert.match(String(unsound), /device-plugins may be written by everybody, who could stand in for the kubelet/);
    assert.match(String(ensured), /plugin-broker is not a folder of the broker's own; move it away/);
    const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    assert.deepEqual(await uninstallFront(kubelet, true, { clock: systemClock, pause }), { removed: [] });
    assert.deepEqual(readdirSync(folder), before);
    assert.equal(lstatSync(path.join(folder, 'private.sock')).isSocket(), true);
  });
});
