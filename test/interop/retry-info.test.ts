import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Child, type Program } from '../support/child.js';
import { Broker } from './support/broker.js';
import { buildGo, python, type GoPrograms } from './support/programs.js';
import { missing } from './support/tools.js';

/** No permit but the first, and a call beyond it is refused instead of held. */
const STRICT = `flood:
  mode: enforce
  register:
    burst: 1
    interval: 20s
    onExceed: reject
`;
const CALLS = 2;

describe('a flood of Register calls', () => {
  let broker: Broker;
  before(async () => {
    broker = await Broker.start(STRICT);
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });

  /** Brings a plugin in, calls Register for it again from another process, and gives what that process was told. */
  const flood = async (resource: string, plugin: Program, caller: Program): Promise<readonly string[]> => {
    const endpoint = `${resource.replace('/', '-')}.sock`;
    const incumbent = new Child(plugin, [
      ...['--dir', broker.devicePlugins, '--resource', resource, '--endpoint', endpoint],
    ]);
    try {
      await incumbent.says('registered');
      const again = new Child(caller, [
        ...['--socket', broker.kubeletSocket, '--endpoint', endpoint, '--resource', resource, '--times', String(CALLS)],
      ]);
      assert.equal(await again.end(), 0, again.story);
      assert.equal(again.lines.length, CALLS, again.story);
      return again.lines;
    } finally {
      await incumbent.stop();
    }
  };

  it('is answered RESOURCE_EXHAUSTED with a RetryInfo that grpc-go decodes', { skip: missing('go') }, async () => {
    const { plugin, caller }: GoPrograms = buildGo();
    for (const line of await flood('example.com/go', plugin, caller)) {
      assert.match(line, /^ResourceExhausted retry-after-ms=[1-9]\d* \S/);
    }
  });

  it('is answered RESOURCE_EXHAUSTED with details that Python decodes', { skip: missing('python') }, async () => {
    for (const line of await flood('example.com/python', python('plugin.py'), python('caller.py'))) {
      const [, delay, pushback] = /^RESOURCE_EXHAUSTED retry-after-ms=(\d+) pushback-ms=(\d+) \S/.exec(line) ?? [];
      assert.ok(Number(delay) > 0, line);
      assert.equal(pushback, delay, 'both ways of saying it agree');
    }
  });
});
