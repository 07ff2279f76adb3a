import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import type { NodeInfo } from '../../../src/csi/node-info.js';
import { FileTarget } from '../../../src/platform/kubernetes/file-target.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { eventually } from '../../support/eventually.js';
import { FakeClock } from '../../support/fake-clock.js';
import { byName, info, zone } from '../../support/node-infos.js';
import { tempDir } from '../../support/temp-dir.js';

const never = new AbortController().signal;

describe('publishing to a file', () => {
  let file: string;
  let target: FileTarget;

  beforeEach(() => {
    file = path.join(tempDir(), 'csinode.json');
    target = new FileTarget({ file, nodeName: 'worker-1', clock: systemClock });
  });

  const apply = (want: ReadonlyMap<string, NodeInfo>, ...unwanted: string[]) =>
    target.apply(want, new Set(unwanted), never);

  it('writes a list of the Node and the CSINode as the API has them', async () => {
    const outcome = await apply(
      byName(info('b.csi', { count: 7, topology: zone('z1') }), info('a.csi', { nodeId: 'x' })),
    );
    assert.deepEqual(outcome, { ok: true, conflicts: new Map() });
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'v1',
          kind: 'Node',
          metadata: {
            name: 'worker-1',
            annotations: { 'csi.volume.kubernetes.io/nodeid': '{"a.csi":"x","b.csi":"n1"}' },
            labels: { 'example.com/zone': 'z1' },
          },
        },
        {
          apiVersion: 'storage.k8s.io/v1',
          kind: 'CSINode',
          metadata: { name: 'worker-1' },
          spec: {
            drivers: [
              { name: 'a.csi', nodeID: 'x', topologyKeys: [] },
              { name: 'b.csi', nodeID: 'n1', topologyKeys: ['example.com/zone'], allocatable: { count: 7 } },
            ],
          },
        },
      ],
    });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(path.dirname(file)), ['csinode.json']);
  });

  it('keeps over a restart what nobody has said anything about yet', async () => {
    await apply(byName(info('a.csi'), info('b.csi', { topology: zone('z1') })));
    target = new FileTarget({ file, nodeName: 'worker-1', clock: systemClock });
    assert.deepEqual(await target.known(), ['a.csi', 'b.csi']);
    await apply(byName(info('c.csi')));
    assert.deepEqual(await target.known(), ['a.csi', 'b.csi', 'c.csi']);
    assert.match(readFileSync(file, 'utf8'), /"example.com\/zone": "z1"/);
  });

  it('takes back a driver and the labels that only it named', async () => {
    await apply(byName(info('a.csi', { topology: zone('z1') }), info('b.csi', { topology: zone('z1') })));
    await apply(byName(info('b.csi', { topology: zone('z1') })), 'a.csi');
    assert.match(readFileSync(file, 'utf8'), /"example.com\/zone": "z1"/);
    await apply(byName(), 'b.csi');
    assert.deepEqual(await target.known(), []);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /zone/);
  });

  it('lets a driver change its own topology, and refuses one that contradicts another driver', async () => {
    await apply(byName(info('a.csi', { topology: zone('z1') })));
    assert.deepEqual(await apply(byName(info('a.csi', { topology: zone('z2') }))), { ok: true, conflicts: new Map() });
    const outcome = await apply(
      byName(info('a.csi', { topology: zone('z2') }), info('b.csi', { topology: zone('z3') })),
    );
    assert.deepEqual(outcome, {
      ok: true,
      conflicts: new Map([
        ['b.csi', 'CSI driver b.csi says example.com/zone=z3, but the node has the label example.com/zone=z2'],
      ]),
    });
    assert.deepEqual(await target.known(), ['a.csi']);
  });

  it('does not touch a file that is right already', async () => {
    await apply(byName(info('a.csi')));
    const before = statSync(file, { bigint: true });
    await apply(byName(info('a.csi')));
    assert.equal(statSync(file, { bigint: true }).ino, before.ino);
  });

  it('writes a damaged file, or one of another node, anew', async () => {
    for (const text of [
      '',
      '{"items":',
      '[]',
      '{"items":[{}]}',
      '{"items":[{"metadata":{"name":"other"}},{"spec":{"drivers":[{"name":"x"}]}}]}',
    ]) {
      writeFileSync(file, text);
      assert.deepEqual(await target.known(), [], text);
      assert.equal((await apply(byName(info('a.csi')))).ok, true);
      assert.deepEqual(await target.known(), ['a.csi']);
    }
  });

  it('says why it cannot write, and writes when it can again', async () => {
    const folder = path.join(path.dirname(file), 'state');
    target = new FileTarget({ file: path.join(folder, 'csinode.json'), nodeName: 'worker-1', clock: systemClock });
    const outcome = await apply(byName(info('a.csi')));
    assert.match(
      outcome.ok ? '' : outcome.message,
      /^the node facts of CSI drivers cannot be written to .*csinode\.json: ENOENT/,
    );
    mkdirSync(folder);
    chmodSync(folder, 0o700);
    assert.equal((await apply(byName(info('a.csi')))).ok, true);
  });

  it('leaves what was published when it is killed at any point of a write', async () => {
    await apply(byName(info('a.csi')));
    writeFileSync(`${file}.new`, '{"half a fi');
    assert.deepEqual(await target.known(), ['a.csi']);
    await apply(byName(info('b.csi')));
    assert.deepEqual(await target.known(), ['a.csi', 'b.csi']);
  });

  const things: Readonly<Record<string, (at: string) => void>> = {
    FIFO: (at) => execFileSync('mkfifo', [at]),
    directory: (at) => mkdirSync(path.join(at, 'full'), { recursive: true }),
    'dangling link': (at) => symlinkSync('/nowhere/at/all', at),
  };
  for (const [kind, make] of Object.entries(things)) {
    it(`reads nothing where a ${kind} has its names, and writes`, { timeout: 20_000 }, async () => {
      make(file);
      make(`${file}.new`);
      assert.deepEqual(await target.known(), []);
      assert.deepEqual(await apply(byName(info('a.csi'))), { ok: true, conflicts: new Map() });
      assert.deepEqual(await target.known(), ['a.csi']);
    });
  }

  it('gives up reading a disk that does not answer, and reads it when it does', async (t) => {
    const clock = new FakeClock();
    target = new FileTarget({ file, nodeName: 'worker-1', clock });
    const held: (() => void)[] = [];
    const real = fs.open as (...args: unknown[]) => void;
    const disk = t.mock.method(fs, 'open', (...args: unknown[]) => void held.push(() => real(...args)));
    const late = assert.rejects(target.known(), /csinode\.json was not read within 10000 ms/);
    await clock.advance(10_000);
    await late;
    await assert.rejects(target.known(), /an earlier operation on the file still hangs/);
    const outcome = await apply(byName(info('a.csi')));
    assert.match(
      outcome.ok ? '' : outcome.message,
      /cannot be written to .*: an earlier operation on the file still hangs/,
    );
    assert.equal(held.length, 1);
    disk.mock.restore();
    for (const go of held) go();
    await eventually('it answers', async () => (await apply(byName(info('a.csi')))).ok);
    assert.deepEqual(await target.known(), ['a.csi']);
  });
});
