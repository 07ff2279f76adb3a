import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker } from './support/broker.js';
import { Child, type Program } from '../support/child.js';
import { buildGo } from './support/programs.js';
import { missing } from './support/tools.js';

/** No permit but the first, and a call beyond it is refused instead of held. */
const STRICT = `flood:
  mode: enforce
  register:
    burst: 1
    interval: 20s
    onExceed: reject
`;

describe('a flood of Register calls from Go', { skip: missing('go') }, () => {
  let broker: Broker;
  let programs: { readonly plugin: Program; readonly caller: Program };
  before(async () => {
    programs = buildGo();
    broker = await Broker.start(STRICT);
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });

  it('is answered RESOURCE_EXHAUSTED with a RetryInfo that grpc-go decodes', async () => {
    const resource = 'example.com/go-flood';
    const plugin = new Child(programs.plugin, ['--dir', broker.devicePlugins, '--resource', resource]);
    try {
      await plugin.says('registered');
      const caller = new Child(programs.caller, [
        ...['--socket', broker.kubeletSocket, '--endpoint', 'go.sock', '--resource', resource, '--times', '3'],
      ]);
      assert.equal(await caller.end(), 0, caller.story);
      assert.equal(caller.lines.length, 3, caller.story);
      for (const line of caller.lines) {
        const wait = /^ResourceExhausted retry-after-ms=(\d+) \S/.exec(line)?.[1];
        assert.ok(Number(wait ?? 0) > 0, `a wait that can be kept: ${line}`);
      }
    } finally {
      await plugin.stop();
    }
  });
});
