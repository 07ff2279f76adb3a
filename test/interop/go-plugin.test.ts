import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Broker } from './support/broker.js';
import { Child } from '../support/child.js';
import { liveThrough } from './support/plugin-story.js';
import { buildGo, type GoPrograms } from './support/programs.js';
import { missing } from './support/tools.js';

const STYLES = [
  { style: 'bare', what: 'a bare path and WithDialer' },
  { style: 'passthrough', what: 'passthrough:///path and WithContextDialer' },
  { style: 'unix', what: 'unix:path' },
  { style: 'unix-slashes', what: 'unix://path' },
  { style: 'authority', what: 'a bare path and an authority of its own' },
];

describe('a Go plugin on an old grpc-go', { skip: missing('go') }, () => {
  let broker: Broker;
  let programs: GoPrograms;
  before(async () => {
    programs = buildGo();
    broker = await Broker.start();
  });
  after(async () => {
    assert.equal(await broker.stop(), 0);
  });

  for (const { style, what } of STYLES) {
    it(`that dials ${what} comes in through the Register door and lives`, async () => {
      await liveThrough(broker, programs.plugin, {
        door: 'register',
        resource: `example.com/go-${style}`,
        endpoint: `go-${style}.sock`,
        flags: ['--dial', style],
      });
    });
  }

  it('comes in through the watcher door and lives', async () => {
    await liveThrough(broker, programs.plugin, {
      door: 'watcher',
      resource: 'example.com/go-watched',
      endpoint: 'go-watched.sock',
      flags: ['--dial', 'unix'],
    });
  });

  it('is told in one sentence why its version is refused', async () => {
    const caller = new Child(programs.caller, [
      ...[
        '--socket',
        broker.kubeletSocket,
        '--endpoint',
        'no.sock',
        '--resource',
        'example.com/go-old',
        '--version',
        'v1',
      ],
    ]);
    assert.equal(await caller.end(), 0, caller.story);
    assert.match(caller.lines.join('\n'), /^[A-Z]\w+ retry-after-ms=-1 .*v1beta1/);
  });
});
