import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkMeant, checkRoots, endpointPath, pinRefusal } from '../../../src/admission/endpoint.js';
import type { SocketPort } from '../../../src/admission/ports.js';
import { CSI_PLUGIN, DEVICE_PLUGIN, DRA_PLUGIN } from '../../../src/model/ids.js';
import type { Door, PinnedSocket, RegistrationRequest } from '../../../src/model/plugin.js';
import type { Paths } from '../../../src/model/settings.js';
import { FakeSockets } from '../../support/fake-sockets.js';

const PATHS: Paths = {
  root: '/r',
  devicePlugins: '/r/device-plugins',
  pluginsRegistry: '/r/plugins_registry',
  plugins: '/r/plugins',
  state: '/r/state',
  brokerSocket: '/r/broker.sock',
  allocSocket: '/r/alloc.sock',
  podResources: '/r/pod-resources',
  map: [
    { from: '/var/lib/kubelet/device-plugins', to: '/r/device-plugins' },
    { from: '/host', to: '/r' },
  ],
};

const request = (endpoint: string, door: Door = 'register', type = DEVICE_PLUGIN): RegistrationRequest => ({
  door,
  pulled: false,
  type,
  name: 'example.com/x',
  versions: ['v1beta1'],
  endpoint,
});
const resolved = (endpoint: string, door?: Door, type?: string): string => {
  const found = endpointPath(request(endpoint, door, type), PATHS);
  return typeof found === 'string' ? found : found.code;
};
/** An endpoint with which the whole path has so many bytes. */
const long = (bytes: number): string => 'x'.repeat(bytes - '/r/device-plugins/'.length);

describe('the path an endpoint means', () => {
  const rows: [endpoint: string, path: string, door?: Door, type?: string][] = [
    ['a.sock', '/r/device-plugins/a.sock'],
    ['noSuffix=+_A', '/r/device-plugins/noSuffix=+_A'],
    ['sub/a.sock', '/r/device-plugins/sub/a.sock'],
    ['__proto__', '/r/device-plugins/__proto__'],
    // Joined and normalised as the kubelet does: a path that lies outside is refused where it is opened.
    ['../../etc/x.sock', '/etc/x.sock'],
    ['..', '/r'],
    ['.', '/r/device-plugins'],
    // Absolute ones count as they are inside a root, are translated by the map, and are else joined like the kubelet's.
    ['/r/device-plugins/a.sock', '/r/device-plugins/a.sock'],
    ['/r/device-plugins/../a.sock', '/r/device-plugins/r/a.sock'],
    ['/var/lib/kubelet/device-plugins/a.sock', '/r/device-plugins/a.sock'],
    ['/var/lib/kubelet/device-plugins/../../../x.sock', '/r/device-plugins/var/x.sock'],
    ['/host/device-plugins/a.sock', '/r/device-plugins/a.sock'],
    ['/hostile/a.sock', '/r/device-plugins/hostile/a.sock'],
    ['/a.sock', '/r/device-plugins/a.sock'],
    ['csi.sock', '/r/plugins_registry/csi.sock', 'watcher'],
    ['/r/plugins/d/csi.sock', '/r/plugins/d/csi.sock', 'watcher', CSI_PLUGIN],
    ['/var/lib/kubelet/plugins/d/csi.sock', '/var/lib/kubelet/plugins/d/csi.sock', 'watcher', CSI_PLUGIN],
    ['/elsewhere/d.sock', '/elsewhere/d.sock', 'watcher', DRA_PLUGIN],
    [long(107), `/r/device-plugins/${long(107)}`],
    [long(108), 'ENDPOINT_TOO_LONG'],
    [`${'ü'.repeat(44)}.`, `/r/device-plugins/${'ü'.repeat(44)}.`],
    ['ü'.repeat(45), 'ENDPOINT_TOO_LONG'],
    [`${'./'.repeat(500)}a.sock`, '/r/device-plugins/a.sock'],
    [`${'./'.repeat(512)}a.sock`, 'ENDPOINT_TOO_LONG'],
    // Its written form counts: a control character takes six bytes.
    [`${'\u0001'.repeat(200)}/../a.sock`, 'ENDPOINT_TOO_LONG'],
    ['a\0b', 'ENDPOINT_INVALID'],
    ['', 'ENDPOINT_INVALID'],
  ];
  for (const [endpoint, path, door, type] of rows) {
    const shown = endpoint.length > 60 ? `${endpoint.slice(0, 12)}… (${String(endpoint.length)})` : endpoint;
    it(`${JSON.stringify(shown)} at the ${door ?? 'register'} door of ${type ?? DEVICE_PLUGIN}: ${path.slice(0, 60)}`, () => {
      assert.equal(resolved(endpoint, door, type), path);
    });
  }

  it('an empty endpoint at the watcher door is the registration socket itself', () => {
    const sockets = new FakeSockets();
    sockets.put('/r/plugins_registry/x.sock');
    const socket = sockets.open('/r/plugins_registry/x.sock');
    assert.ok(socket);
    assert.equal(endpointPath({ ...request('', 'watcher'), socket }, PATHS), '/r/plugins_registry/x.sock');
  });

  it('the first translation that fits counts', () => {
    const map = [
      { from: '/host/device-plugins', to: '/r/device-plugins/first' },
      { from: '/host', to: '/second' },
    ];
    assert.equal(endpointPath(request('/host/device-plugins/a'), { ...PATHS, map }), '/r/device-plugins/first/a');
  });
});

describe('where a pinned endpoint may lie', () => {
  const real = new Map([
    ['/r/device-plugins', '/mnt/dp'],
    ['/r/plugins', '/r/plugins'],
    ['/r/plugins_registry', '/r/plugins_registry'],
    ['/var/lib/kubelet/plugins', '/var/lib/kubelet/plugins'],
  ]);
  const rows: [door: Door, type: string, path: string, allowed: boolean][] = [
    ['register', DEVICE_PLUGIN, '/mnt/dp/a.sock', true],
    ['register', DEVICE_PLUGIN, '/mnt/dp/sub/a.sock', true],
    ['register', DEVICE_PLUGIN, '/r/device-plugins/a.sock', false],
    ['register', DEVICE_PLUGIN, '/mnt/dp-other/a.sock', false],
    ['register', DEVICE_PLUGIN, '/mnt/dp', false],
    ['register', DEVICE_PLUGIN, '/r/plugins_registry/a.sock', false],
    ['watcher', DEVICE_PLUGIN, '/r/plugins_registry/a.sock', true],
    ['watcher', DEVICE_PLUGIN, '/r/plugins/a.sock', false],
    ['watcher', CSI_PLUGIN, '/r/plugins/d/csi.sock', true],
    ['watcher', CSI_PLUGIN, '/r/plugins_registry/d.sock', true],
    ['watcher', DRA_PLUGIN, '/var/lib/kubelet/plugins/d/dra.sock', true],
    ['watcher', DRA_PLUGIN, '/mnt/dp/d.sock', false],
  ];
  for (const [door, type, path, allowed] of rows) {
    it(`${path} of ${type} at the ${door} door: ${allowed ? 'allowed' : 'ENDPOINT_OUTSIDE'}`, () => {
      const sockets = new FakeSockets();
      sockets.put(path);
      const pinned = sockets.open(path);
      assert.ok(pinned);
      const port: SocketPort = {
        pin: () => ({ problem: 'missing', detail: '' }),
        listenerOf: () => ({ error: 'ECONNREFUSED' }),
        realDirectory: (directory) => real.get(directory),
      };
      const refusal = checkRoots(request('as-sent', door, type), pinned, PATHS, port);
      assert.equal(refusal?.code, allowed ? undefined : 'ENDPOINT_OUTSIDE');
      if (!allowed) assert.match(refusal?.message ?? '', new RegExp(`leads to ${path}, outside of /`));
    });
  }

  it('is asked before it is looked at, of the path as it is written and of the root where it really is', () => {
    const meant = (full: string, door: Door = 'register') =>
      checkMeant(request('x', door), full, {
        paths: PATHS,
        sockets: { realDirectory: (directory) => real.get(directory) },
        ownUid: 0,
      })?.code;
    for (const full of ['/r/device-plugins/a.sock', '/mnt/dp/a.sock']) assert.equal(meant(full), undefined, full);
    assert.equal(meant('/r/plugins_registry/a.sock', 'watcher'), undefined);
    for (const full of ['/tmp/a.sock', '/mnt/dp', '/r/plugins/a.sock'])
      assert.equal(meant(full), 'ENDPOINT_OUTSIDE', full);
    assert.equal(meant('/tmp/chain/a.sock', 'watcher'), 'ENDPOINT_OUTSIDE');
  });

  it('of an ordinary user lies four directories below the root at most', () => {
    const deep = (full: string, uid: number, ownUid = 0): string | undefined => {
      const caller = { uid, gid: uid, pid: 7, startTime: '1', source: 'peercred' } as const;
      const port = { realDirectory: (directory: string) => real.get(directory) };
      return checkMeant({ ...request('x'), caller }, full, { paths: PATHS, sockets: port, ownUid })?.code;
    };
    for (const root of ['/r/device-plugins', '/mnt/dp']) {
      assert.equal(deep(`${root}/a/a/a/a/p.sock`, 4001), undefined);
      assert.equal(deep(`${root}/a/a/a/a/a/p.sock`, 4001), 'ENDPOINT_TOO_DEEP');
      assert.equal(deep(`${root}/a/a/a/a/a/p.sock`, 0), undefined);
      assert.equal(deep(`${root}/a/a/a/a/a/p.sock`, 4001, 4001), undefined);
    }
  });

  it('a root that does not exist lets nothing in', () => {
    const sockets = new FakeSockets();
    sockets.put('/r/device-plugins/a.sock');
    const pinned = sockets.open('/r/device-plugins/a.sock');
    assert.ok(pinned);
    const port = { pin: sockets.open, listenerOf: () => ({ error: '' }), realDirectory: () => undefined };
    assert.equal(checkRoots(request('a.sock'), pinned, PATHS, port as unknown as SocketPort)?.code, 'ENDPOINT_OUTSIDE');
  });

  it('is not another one that has taken the path of the registration socket meanwhile', () => {
    const sockets = new FakeSockets();
    const port = {
      pin: sockets.open,
      listenerOf: () => ({ error: '' }),
      realDirectory: (directory: string) => directory,
    };
    const pinAt = (name: string): PinnedSocket => {
      const pinned = sockets.open(name);
      assert.ok(pinned);
      return pinned;
    };
    const own = '/r/plugins_registry/a.sock';
    sockets.put(own);
    const socket = pinAt(own);
    const refusal = (pinned: PinnedSocket) =>
      checkRoots({ ...request('', 'watcher'), socket }, pinned, PATHS, port as unknown as SocketPort);
    assert.equal(refusal(pinAt(own)), undefined);
    sockets.put(own);
    assert.equal(refusal(pinAt(own))?.code, 'SOCKET_SWAPPED');
    sockets.put('/r/plugins_registry/service.sock');
    assert.equal(refusal(pinAt('/r/plugins_registry/service.sock')), undefined, 'a service socket of its own');
  });
});

describe('why a path could not be opened', () => {
  for (const [problem, detail, code] of [
    ['missing', 'ENOENT', 'ENDPOINT_MISSING'],
    ['not-a-socket', 'a directory', 'ENDPOINT_NOT_SOCKET'],
    ['too-long', '120 bytes', 'ENDPOINT_TOO_LONG'],
    ['error', 'EACCES', 'NOT_PERMITTED'],
    ['error', 'EIO', 'ENDPOINT_MISSING'],
    ['error', 'EMFILE', 'BUSY'],
    ['error', 'ENFILE', 'BUSY'],
  ] as const) {
    it(`${problem} (${detail}): ${code}`, () => {
      const refusal = pinRefusal('example.com/x', '/r/device-plugins/x', { problem, detail }, 1000);
      assert.equal(refusal.code, code);
      assert.match(refusal.message, /^example\.com\/x: /);
    });
  }

  it('EACCES: with who would have to run as whom', () => {
    const problem = { problem: 'error', detail: 'EACCES' } as const;
    assert.match(
      pinRefusal('example.com/x', '/r/x', problem, 1000).message,
      /x: the broker runs as uid 1000 and may not connect to \/r\/x \(EACCES\); run the broker as root or as the user/,
    );
  });
});
