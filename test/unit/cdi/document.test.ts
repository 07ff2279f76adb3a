import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AnsweredDevice, PluginAnswer } from '../../../src/model/lease.js';
import { cdiText, hostPathsOf, readCdiText } from '../../../src/cdi/document.js';
import { deviceName, fileOf, leaseOf, writtenAs, writtenBy } from '../../../src/cdi/names.js';
import type { HostNode } from '../../../src/cdi/ports.js';
import { cdiFile } from '../../support/cdi-schema.js';
import { lease } from '../../support/leases.js';

const ID = '01k9r4e7aaaaaaaaaaaaaaaaaa';
const ORIGIN = { root: '0123456789abcdef', boot: 'b-1' };
const KIND = 'plugin-broker/lease';
const node = (path: string): HostNode => ({ kind: 'node', path });
const device = (hostPath: string, containerPath = hostPath, permissions = 'rw'): AnsweredDevice => ({
  hostPath,
  containerPath,
  permissions,
});

function text(answer: Partial<PluginAnswer>, found: Readonly<Record<string, HostNode>> = {}): string {
  const given = lease({ id: ID, devices: { 'vendor.example/acc': ['a0'], 'vendor.example/tty': ['t3'] }, answer });
  const written = cdiText(given, KIND, ORIGIN, new Map(Object.entries(found)));
  assert.ok(written.ok, written.ok ? '' : written.problem);
  return written.text;
}

function problem(answer: Partial<PluginAnswer>, found: Readonly<Record<string, HostNode>> = {}): string {
  const written = cdiText(lease({ answer }), KIND, ORIGIN, new Map(Object.entries(found)));
  return written.ok ? 'none' : written.problem;
}

describe('the CDI file of a lease', () => {
  it('has the lease as its one device, with what its plugins answered', () => {
    const written: unknown = JSON.parse(
      text(
        {
          envs: new Map([['ACC_IDS', 'a0']]),
          devices: [device('/dev/serial/by-id/x', '/dev/ttyS0'), device('/dev/acc0')],
          mounts: [
            { hostPath: '/opt/acc/lib', containerPath: '/usr/lib/acc', readOnly: true },
            { hostPath: '/run/acc', containerPath: '/run/acc', readOnly: false },
          ],
          annotations: new Map([['vendor.example/a', 'b']]),
          cdiDevices: ['vendor.example/acc=a0'],
        },
        { '/dev/serial/by-id/x': node('/dev/ttyUSB3'), '/dev/acc0': node('/dev/acc0') },
      ),
    );
    assert.deepEqual(cdiFile.parse(written), {
      cdiVersion: '0.5.0',
      kind: 'plugin-broker/lease',
      devices: [
        {
          name: ID,
          containerEdits: {
            env: [
              `PLUGIN_BROKER_LEASE=${ID}`,
              'PLUGIN_BROKER_DEVICES=vendor.example/acc=a0;vendor.example/tty=t3',
              'ACC_IDS=a0',
            ],
            deviceNodes: [
              { path: '/dev/ttyS0', hostPath: '/dev/ttyUSB3', permissions: 'rw' },
              { path: '/dev/acc0', hostPath: '/dev/acc0', permissions: 'rw' },
            ],
            mounts: [
              { hostPath: '/opt/acc/lib', containerPath: '/usr/lib/acc', options: ['rbind', 'ro'] },
              { hostPath: '/run/acc', containerPath: '/run/acc', options: ['rbind', 'rw'] },
            ],
          },
        },
      ],
      containerEdits: { env: ['PLUGIN_BROKER_ORIGIN=0123456789abcdef.b-1'] },
    });
  });

  it('names every device node of a directory, and rwm where the plugin names no permissions', () => {
    const found: HostNode = {
      kind: 'directory',
      nodes: [
        { below: 'a', path: '/dev/real-a' },
        { below: 'by-id/b', path: '/dev/b' },
      ],
    };
    const { devices } = cdiFile.parse(
      JSON.parse(text({ devices: [device('/dev/acc', '/dev/mine/', '')] }, { '/dev/acc': found })),
    );
    assert.deepEqual(devices[0]?.containerEdits.deviceNodes, [
      { path: '/dev/mine/a', hostPath: '/dev/real-a', permissions: 'rwm' },
      { path: '/dev/mine/by-id/b', hostPath: '/dev/b', permissions: 'rwm' },
    ]);
  });

  it('has a device once when two plugins name it, and looks where the container path is when there is no other', () => {
    const answer = { devices: [device('/dev/x'), device('/dev/x'), device('', '/dev/y')] };
    assert.deepEqual(hostPathsOf(lease({ answer })), ['/dev/x', '/dev/y']);
    const { devices } = cdiFile.parse(JSON.parse(text(answer, { '/dev/x': node('/dev/x'), '/dev/y': node('/dev/y') })));
    assert.equal(devices[0]?.containerEdits.deviceNodes?.length, 2);
  });

  it('is not written without a device node that the plugin named, and says which', () => {
    const missing = problem({ devices: [device('/dev/x')] }, { '/dev/x': { kind: 'missing' } });
    assert.equal(missing, 'the device node /dev/x does not exist on this machine');
    const file = problem({ devices: [device('/dev/x')] }, { '/dev/x': { kind: 'unusable', what: 'a file' } });
    assert.equal(file, '/dev/x is no device node but a file');
  });

  it('is not written for a short answer that names a directory again and again', () => {
    const nodes = Array.from({ length: 1000 }, (_, nth) => ({ below: String(nth), path: `/dev/many/${String(nth)}` }));
    const found = { '/dev/many': { kind: 'directory', nodes } } as const;
    const named = (times: number) =>
      Array.from({ length: times }, (_, nth) => ({ ...device('/dev/many'), containerPath: `/dev/${String(nth)}` }));
    assert.equal(
      problem({ devices: named(20) }, found),
      'the device nodes that its plugin answered do not fit in one CDI file',
    );
    assert.equal(problem({ devices: named(5) }, found), 'none');
  });

  it('is not written for paths and variables that no container can have', () => {
    assert.match(problem({ devices: [device('dev/x')] }), /is no absolute path/);
    assert.match(problem({ mounts: [{ hostPath: '/a', containerPath: '', readOnly: true }] }), /is no absolute path/);
    assert.match(problem({ envs: new Map([['A=B', 'c']]) }), /cannot stand in an environment/);
    assert.match(problem({ envs: new Map([['A', 'c\u0000']]) }), /cannot stand in an environment/);
  });

  it('follows the published rules and says its devices again, whatever ids, variables and paths there are', () => {
    const name = fc.string({ unit: 'binary', minLength: 1, maxLength: 40 });
    const absolute = fc.string({ maxLength: 20 }).map((tail) => `/${tail.replaceAll('\u0000', '')}`);
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 5 }),
        fc.array(fc.tuple(fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/), fc.string())),
        fc.array(fc.tuple(absolute, absolute)),
        (ids, envs, paths) => {
          const given = {
            ...lease({ id: ID }),
            granted: [{ resource: 'vendor.example/x', devices: ids.map((id) => ({ id, numaNodes: [] })) }],
            answer: {
              ...lease().answer,
              envs: new Map(envs.map(([key, value]) => [key, value.replaceAll('\u0000', '')])),
              devices: paths.map(([host, container]) => device(host, container)),
            },
          };
          const found = new Map(hostPathsOf(given).map((path) => [path, node(path)]));
          const written = cdiText(given, KIND, ORIGIN, found);
          assert.ok(written.ok);
          cdiFile.parse(JSON.parse(written.text));
          const again = readCdiText(written.text);
          assert.deepEqual(again?.origin, ORIGIN);
          assert.deepEqual(again.devices.get('vendor.example/x') ?? [], ids);
        },
      ),
    );
  });

  it('of another is none of ours, whatever it says', () => {
    for (const other of [
      '',
      '[]',
      'null',
      '7',
      '{"devices":[{}]}',
      '{"containerEdits":{"env":["PLUGIN_BROKER_ORIGIN=x"]}}',
    ]) {
      assert.equal(readCdiText(other), undefined, other);
    }
  });
});

describe('the names of CDI files', () => {
  it('are as engines want them, and lead back to the lease', () => {
    assert.equal(fileOf(ID), `plugin-broker-lease_${ID}.json`);
    assert.equal(leaseOf(fileOf(ID)), ID);
    assert.equal(deviceName(KIND, ID), `plugin-broker/lease=${ID}`);
    for (const other of ['nvidia.json', 'plugin-broker-lease_x.json', `x${fileOf(ID)}`, `${fileOf(ID)}.yaml`, '']) {
      assert.equal(leaseOf(other), undefined, other);
    }
  });

  it('are others while a file is being written: hidden, read by no engine, and only ours in the eyes of this root', () => {
    const name = writtenAs(ID, ORIGIN.root);
    assert.match(name, /^\./);
    assert.doesNotMatch(name, /\.(json|yaml)$/);
    assert.equal(writtenBy(name, ORIGIN.root), ID);
    assert.equal(writtenBy(name, 'fedcba9876543210'), undefined);
    assert.equal(writtenBy(fileOf(ID), ORIGIN.root), undefined);
  });
});
