import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { PluginInfo } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { RawPlugin } from '../../support/raw-plugin.js';
import { tempDir } from '../../support/temp-dir.js';

/** As a node boots: drivers come at the same time, and the broker is busy. */
const CROWD = 40;
const CROWDS = 4;

void describe('connections to registration sockets', () => {
  const broker = new BrokerProcess(tempDir(), { flood: { mode: 'observe' }, log: { level: 'error' } });
  before(() => broker.start());
  after(() => broker.close());

  void it('are closed after their call, however many are made at once', async () => {
    // Half of them cannot be read, half are refused: nobody keeps a connection.
    const unreadable = Buffer.from([0x0a, 0x05, 0xff, 0xfe, 0xfd, 0xfc, 0xfb]);
    const unknown = PluginInfo.encode({ type: 'Other', name: 'crowd', endpoint: '', supportedVersions: ['1.0.0'] });
    for (let crowd = 0; crowd < CROWDS; crowd++) {
      const plugins = await Promise.all(
        Array.from({ length: CROWD }, (_, at) =>
          RawPlugin.start(path.join(broker.registry, `${crowd}-${at}.sock`), {
            GetInfo: at % 2 === 0 ? unreadable : unknown,
          }),
        ),
      );
      await Promise.all(
        plugins.map((plugin) =>
          eventually(
            'its connections are closed',
            () => plugin.answered.has('GetInfo') && plugin.connections === 0,
            // Each is asked again and again; none is asked without a pause.
            { everyMs: 5 },
          ),
        ),
      );
      await Promise.all(plugins.map((plugin) => plugin.stop()));
    }
  });
});
