import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:net';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { FakeAdminPort, pluginView } from '../../support/fake-admin-port.js';
import { runHere } from '../../support/captured-terminal.js';
import { run } from '../../support/program.js';
import { serveAdmin, type ServedAdminApi } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const root = tempDir();
const address = path.join(root, 'broker.sock');

describe('exit codes with a daemon', () => {
  const port = new FakeAdminPort();
  port.pluginList = [
    pluginView(),
    pluginView({ type: 'CSIPlugin', name: 'two.io', state: 'held' }),
    pluginView({ type: 'DRAPlugin', name: 'two.io', state: 'held' }),
  ];
  let served: ServedAdminApi;
  before(async () => {
    served = await serveAdmin(address, port);
  });
  after(() => served.cut());

  const rows: readonly { args: readonly string[]; code: number; says: RegExp }[] = [
    { args: ['plugins', 'example.com/gpo'], code: 1, says: /did you mean example\.com\/gpu\?/ },
    { args: ['explain', 'nobody'], code: 1, says: /no plugin is called nobody; `plugin-broker plugins` lists/ },
    { args: ['deregister', 'two.io'], code: 2, says: /CSIPlugin and DRAPlugin; say which with --type/ },
    { args: ['forget', 'example.com/gpu'], code: 1, says: /is ready; only held, gone or rejected/ },
    { args: ['forget', 'two.io', '--type', 'CSIPlugin'], code: 0, says: /^$/ },
    { args: ['pardon', 'example.com/gpu'], code: 0, says: /^$/ },
    { args: ['pardon'], code: 2, says: /missing required argument 'name'/ },
  ];
  for (const { args, code, says } of rows) {
    it(`is ${code} for ${args.join(' ')}`, async () => {
      const ended = await runHere([...args, '--root', root]);
      assert.match(ended.stderr, says);
      assert.equal(ended.code, code);
    });
  }

  it('is 2 for verify where a result could not be written, before anything is started', async () => {
    for (const [file, says] of [
      [root, /is a directory/],
      [path.join(root, 'none', 'r.xml'), /cannot be written/],
    ] as const) {
      const ended = await runHere(['verify', '--junit', file, '--', 'true']);
      assert.deepEqual([ended.code, says.test(ended.stderr)], [2, true], ended.stderr);
    }
  });

  for (const phase of ['degraded', 'restoring', 'stopping'] as const) {
    it(`is 3 for status while the broker is ${phase}, and the picture is shown`, async () => {
      port.phase = phase;
      for (const output of [[], ['-o', 'json']]) {
        const ended = await runHere(['status', '--root', root, ...output]);
        assert.deepEqual([ended.code, ended.stderr], [3, '']);
        assert.match(ended.stdout, new RegExp(phase));
      }
      port.phase = 'ready';
    });
  }

  it('is 1 with the sentence of the broker when it cannot do what it is asked', async () => {
    port.touched = new Error('the disk is full');
    const ended = await runHere(['pardon', 'example.com/gpu', '--address', address]);
    assert.deepEqual([ended.code, ended.stderr], [1, 'plugin-broker: the disk is full\n']);
  });

  it('is that of the process too', async () => {
    const [fine, failed, wrong, unreachable] = await Promise.all([
      run(['status', '--root', root]),
      run(['plugins', 'nobody', '--root', root]),
      run(['frobnicate']),
      run(['status', '--root', path.join(root, 'elsewhere')]),
    ]);
    assert.deepEqual([fine.code, failed.code, wrong.code, unreachable.code], [0, 1, 2, 69]);
    assert.deepEqual([failed.stdout, wrong.stdout, unreachable.stdout], ['', '', '']);
  });

  it('is 2 for a daemon that is given an empty path', async () => {
    for (const option of ['--root', '--config']) {
      const { code, stderr } = await run(['serve', ...(option === '--root' ? [] : ['--root', root]), option, '']);
      assert.deepEqual(
        [code, stderr],
        [2, `Option '${option}' wants a path: an empty one names nothing; see plugin-broker serve --help\n`],
      );
    }
  });
});

describe('exit code 69', () => {
  const empty = tempDir();
  const rows: readonly { when: string; prepare: (socket: string) => Promise<Server | undefined>; says: RegExp }[] = [
    {
      when: 'there is no socket',
      prepare: () => Promise.resolve(undefined),
      says: /there is no such socket; start it/,
    },
    {
      when: 'a file stands in its place',
      prepare: (socket) => {
        writeFileSync(socket, '');
        return Promise.resolve(undefined);
      },
      says: /nobody listens there/,
    },
    {
      when: 'the listener hangs up',
      prepare: (socket) => listen(socket, (server) => server.on('connection', (peer) => peer.destroy())),
      says: /the connection ended before the answer/,
    },
    {
      when: 'the listener speaks something else',
      prepare: (socket) =>
        listen(socket, (server) =>
          server.on('connection', (peer) => peer.on('error', () => undefined).end('220 hello\r\n')),
        ),
      says: /cannot be reached at/,
    },
  ];
  for (const [index, { when, prepare, says }] of rows.entries()) {
    it(`names the socket and what to do when ${when}`, async () => {
      const socket = path.join(empty, `${index}.sock`);
      const server = await prepare(socket);
      const ended = await runHere(['status', '--address', socket]);
      server?.close();
      assert.equal(ended.code, 69, ended.stderr);
      assert.match(ended.stderr, says);
      assert.ok(ended.stderr.includes(socket));
      assert.equal(ended.stderr.trimEnd().split('\n').length, 1);
    });
  }
});

describe('exit code 2', () => {
  const rows: readonly (readonly string[])[] = [
    [],
    ['frobnicate'],
    ['status', 'too', 'many'],
    ['status', '--frobnicate'],
    ['status', '-o', 'xml'],
    ['status', '--watch', '--interval', '0'],
    ['events', '--since', '-1'],
    ['completion', 'tcsh'],
    ['plugins', '--address', `/tmp/${'long/'.repeat(30)}broker.sock`],
  ];
  for (const args of rows) {
    const line = args.length === 0 ? 'nothing' : args.join(' ').slice(0, 60);
    it(`comes of ${line}, with a word on standard error`, async () => {
      const ended = await runHere(args);
      assert.deepEqual([ended.code, ended.stdout], [2, '']);
      assert.notEqual(ended.stderr, '');
    });
  }
});

describe('check-config', () => {
  const folder = tempDir();
  const file = path.join(folder, 'broker.yaml');

  it('ends with 78 and names every problem with its place', async () => {
    writeFileSync(file, 'grace: {device: 30x}\nfoo: 1\n');
    const ended = await runHere(['check-config', file]);
    assert.equal(ended.code, 78);
    const lines = ended.stderr.trimEnd().split('\n');
    assert.equal(lines.length, 3);
    assert.match(lines[0] ?? '', /broker\.yaml:1:9: grace\.device: "30x"/);
    assert.match(lines[1] ?? '', /broker\.yaml:2:1: foo: there is no such key/);
  });

  it('ends with 78 and one sentence for a list that contains itself, as serve does', async () => {
    const cyclic = path.join(tempDir(), 'cyclic.yaml');
    writeFileSync(cyclic, 'rules: &r [*r]\n');
    const [checked, served] = await Promise.all([
      run(['check-config', cyclic]),
      run(['serve', '--root', tempDir(), '--config', cyclic]),
    ]);
    for (const ended of [checked, served]) {
      assert.deepEqual([ended.code, ended.signal, ended.stdout], [78, null, '']);
      const [told = '', ...more] = ended.stderr.trimEnd().split('\n');
      assert.match(told, /cyclic\.yaml: a value contains itself/);
      assert.equal(more.length, ended === checked ? 1 : 0, ended.stderr);
    }
  });

  it('ends with 78 when there is no such file', async () => {
    assert.equal((await runHere(['check-config', path.join(folder, 'none.yaml')])).code, 78);
  });

  it('prints every value in effect', async () => {
    writeFileSync(file, `paths: {root: ${folder}}\ngrace: {device: 7s}\n`);
    const ended = await runHere(['check-config', file]);
    assert.deepEqual([ended.code, ended.stderr], [0, '']);
    assert.match(ended.stdout, new RegExp(`^  devicePlugins: ${folder}/device-plugins$`, 'm'));
    assert.match(ended.stdout, /^ {2}device: 7s$/m);
    const sentence = 'is valid: it has 0 rules of its own, and 2 settings outside of rules differ from the defaults';
    assert.equal(ended.stdout.trimEnd().split('\n').at(-1), `# ${file} ${sentence}`);
  });

  it('warns of what has no effect, and ends with 0', async () => {
    writeFileSync(file, 'rules: [{match: {type: DevicePlugin, name: gpu}, grace: 90s}]\nshippedRules: off\n');
    const ended = await runHere(['check-config', file]);
    assert.equal(ended.code, 0);
    const [glob = '', lost = '', ...more] = ended.stderr.trimEnd().split('\n');
    assert.match(glob, /^warning: .*: rules\[0\]\.match\.name: it can match nothing: /);
    assert.match(lost, /^warning: .*: shippedRules: plugins .* lose their rules: /);
    assert.deepEqual(more, []);
  });

  it('prints the policy of one plugin with the rules that gave it', async () => {
    writeFileSync(file, 'rules: [{match: {name: "a.io/*"}, flood: {register: {burst: 77}}, grace: 90s}]\n');
    const ruled = await runHere(['check-config', file, '--plugin', 'a.io/x']);
    assert.match(ruled.stdout, /^rules:\n {2}- rules\[0\]$/m);
    assert.match(ruled.stdout, /^ {4}burst: 77$/m);
    assert.match(ruled.stdout, /^grace: 1m30s$/m);
    const other = await runHere([
      'check-config',
      file,
      '--plugin',
      'b.io/x',
      '--type',
      'CSIPlugin',
      '--socket',
      '/x.sock',
    ]);
    assert.match(other.stdout, /^rules: \[\]$/m);
    assert.match(other.stdout, /^type: CSIPlugin$/m);
    writeFileSync(file, 'rules: [{match: {name: "a.io/*"}, flood: {penalty: off}}]\n');
    assert.match((await runHere(['check-config', file, '--plugin', 'a.io/x'])).stdout, /^ {2}penalty: off$/m);
  });

  it('says which rules it leaves out because they go by socket, where none is said', async () => {
    const rule = (match: string): string => `{match: {${match}}, allocate: {max: 3}}`;
    const rules = [rule('socket: x.sock'), rule('name: "b.io/*", socket: x.sock'), rule('name: "*"')];
    writeFileSync(file, `rules: [${rules.join(', ')}]\n`);
    const asked = ['check-config', file, '--plugin', 'a.io/x'];
    const ended = await runHere(asked);
    assert.equal(ended.stderr, 'warning: left out, because they go by socket (--socket): rules[0]\n');
    const there = await runHere([...asked, '--socket', '/r/x.sock']);
    assert.deepEqual([there.stderr, /^rules:\n {2}- rules\[0\]\n {2}- rules\[2\]$/m.test(there.stdout)], ['', true]);
  });
});

function listen(socket: string, prepare: (server: Server) => void): Promise<Server> {
  return new Promise((resolve) => {
    const server = createServer();
    prepare(server);
    server.listen(socket, () => resolve(server));
  });
}
