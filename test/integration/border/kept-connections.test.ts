import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PluginServer } from '../../../src/device-plugin/plugin-server.js';
import {
  PluginInfo,
  registrationService,
} from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { registrationClient } from '../../../src/platform/grpc/registration-client.js';
import type { GuardSettings } from '../../../src/model/settings.js';
import type { RegistrationTalk } from '../../../src/registration/ports.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { guarding } from '../../support/guarding.js';
import { tempDir } from '../../support/temp-dir.js';

const INFO = { type: 'DevicePlugin', name: 'example.com/x', endpoint: '', supportedVersions: ['v1beta1'] };
const PATIENCE_MS = 20_000;

void describe('the connection of GetInfo', () => {
  const clock = new FakeClock();
  /** Connections so far: each asks for its budgets. */
  let opened = 0;
  const guard = (): GuardSettings => {
    opened += 1;
    return guarding.guard();
  };
  const client = registrationClient({ clock, guard }, () => ({ uid: 7, gid: 7, pid: 7 }));
  const socket = path.join(tempDir(), 'x.sock');
  const told: string[] = [];
  let supportedVersions = INFO.supportedVersions;
  let server: PluginServer;

  before(async () => {
    server = await PluginServer.listen(socket, (grpc) =>
      grpc.addService(registrationService, {
        GetInfo: (_call: unknown, reply: (failure: null, answer: object) => void) =>
          reply(null, PluginInfo.decode(PluginInfo.encode({ ...INFO, supportedVersions }))),
        NotifyRegistrationStatus: (
          call: { request: { error: string } },
          reply: (failure: null, answer: object) => void,
        ) => {
          told.push(call.request.error);
          reply(null, {});
        },
      }),
    );
  });
  after(() => server.close());

  function begin(signal = new AbortController().signal): RegistrationTalk {
    const pin = pinSocket(socket);
    assert.ok(!('problem' in pin));
    const talk = client.open(pin, signal);
    pin.release();
    return talk;
  }
  const connections = (count: number): Promise<true> =>
    eventually(`${String(count)} connections`, () => server.connections === count, { everyMs: 5 });

  void it('brings no answer of more than 16 KiB', async (test) => {
    test.after(() => (supportedVersions = INFO.supportedVersions));
    const talk = begin();
    supportedVersions = Array.from({ length: 1000 }, () => 'v1beta1');
    assert.equal((await talk.getInfo(PATIENCE_MS)).supportedVersions.length, 1000);
    supportedVersions = ['v1beta1', 'v'.repeat(17_000)];
    await assert.rejects(talk.getInfo(PATIENCE_MS), /larger than max/);
    talk.close();
    await connections(0);
    opened = 0;
  });

  void it('is the one on which the outcome is told, and ends then', async () => {
    const talk = begin();
    assert.equal((await talk.getInfo(PATIENCE_MS)).name, 'example.com/x');
    await connections(1);
    await talk.notify(undefined, PATIENCE_MS);
    assert.deepEqual([told, opened], [[''], 1]);
    await connections(0);
    talk.close();
    assert.equal(clock.pending, 0);
  });

  void it('that its plugin ended meanwhile costs nothing: the outcome is told on another one', async () => {
    const talk = begin();
    await talk.getInfo(PATIENCE_MS);
    server.cutConnections();
    await talk.notify('NAME_INVALID', PATIENCE_MS);
    assert.equal(told.at(-1), 'NAME_INVALID');
    talk.close();
    await connections(0);
  });

  for (const [what, end] of [
    ['nothing is told', (talk: RegistrationTalk) => talk.close()],
    ['its socket goes', (_: RegistrationTalk, halt: AbortController) => halt.abort()],
    ['it takes long until there is an outcome', () => clock.advance(60_000)],
  ] as const) {
    void it(`ends where ${what}`, async () => {
      const halt = new AbortController();
      const talk = begin(halt.signal);
      await talk.getInfo(PATIENCE_MS);
      await connections(1);
      await end(talk, halt);
      await connections(0);
      talk.close();
    });
  }
});
