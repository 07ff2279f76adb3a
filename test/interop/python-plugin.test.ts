import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker } from './support/broker.js';
import { liveThrough } from './support/plugin-story.js';
import { python } from './support/programs.js';
import type { Program } from '../support/child.js';
import { missing } from './support/tools.js';

describe('a Python plugin on the C implementation of gRPC', { skip: missing('python') }, () => {
  let broker: Broker;
  let plugin: Program;
  before(async () => {
    plugin = python('plugin.py');
    broker = await Broker.start();
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });

  for (const door of ['register', 'watcher'] as const) {
    it(`comes in through the ${door} door and lives`, async () => {
      await liveThrough(broker, plugin, { door, resource: `example.com/python-${door}`, endpoint: `python-${door}` });
    });
  }
});
