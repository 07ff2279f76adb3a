import assert from 'node:assert/strict';
import { chownSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2, constants, type IncomingHttpHeaders } from 'node:http2';
import { connect } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { PluginInfo } from '../../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { DriverClient } from '../../../src/registrar/driver-client.js';
import { Exit } from '../../../src/registrar/exit.js';
import { RegistrarLog } from '../../../src/registrar/registrar-log.js';
import { parseFault } from '../../support/csi-faults.js';
import { eventually } from '../../support/eventually.js';
import { callRegistrar, DRIVER, Rig } from './rig.js';

const identity = (isRegistered: boolean, error = ''): object => ({ pluginRegistered: isRegistered, error });

describe('the registrar', () => {
  let rig: Rig;

  beforeEach(() => {
    rig = new Rig();
  });
  afterEach(() => rig.close());

  describe('and a driver that calls itself by the name of another one', () => {
    const skip = process.getuid?.() === 0 ? false : 'only root can give a driver to others';
    const further = async (): Promise<string> => {
      const socket = path.join(rig.folder, 'd.sock');
      await rig.driver({ socket });
      chownSync(socket, 54_321, 54_321);
      return `--csi-address=${socket}`;
    };

    it('leaves that alone where it is an ordinary user’s', { skip }, async () => {
      await rig.driver();
      await rig.startReady();
      const { ino } = lstatSync(rig.socket);
      const address = await further();
      const other = rig.start(...rig.flags, address, '--kubelet-registration-path=/var/lib/kubelet/plugins/y/csi.sock');
      await other.says('reason="NameTaken"');
      assert.equal(await other.code, 1);
      assert.match(other.err, /another CSI driver is called csi\.sim\.example\.com/);
      assert.equal(lstatSync(rig.socket).ino, ino);
    });

    it('replaces the socket where it is one driver, or nobody answers there', { skip }, async () => {
      await rig.driver();
      const first = await rig.startReady();
      const address = await further();
      const second = await rig.startReady(address);
      await Promise.all([first.stop(), second.stop()]);
      await rig.startReady(address, '--kubelet-registration-path=/var/lib/kubelet/plugins/y/csi.sock');
    });
  });

  describe('and its command line', () => {
    const endings: [what: string, args: string[], code: number, out: RegExp, err: RegExp][] = [
      ['help', ['--help'], 0, /^$/, /^Usage of me:\n/],
      ['help, whatever follows', ['-h', '--nope'], 0, /^$/, /^Usage of me:\n/],
      ['an unknown flag', ['--nope'], 2, /^$/, /^flag provided but not defined: -nope\nUsage of me:\n/],
      ['feature gates', ['--feature-gates=A=true'], 2, /^$/, /not defined: -feature-gates/],
      ['a bad value', ['--timeout=5'], 2, /^$/, /invalid value "5" for flag -timeout/],
      ['the version', ['--version'], 0, /^me 1\.2\.3\n$/, /^$/],
      ['the version before the required path', ['--version', '--mode=x'], 0, /^me 1\.2\.3\n$/, /^$/],
      [
        'a bad logging format before the version',
        ['--version', '--logging-format=xml'],
        1,
        /^$/,
        /"xml\\"? is unknown|unknown/,
      ],
      ['an alpha option', ['--version', '--log-json-split-stream'], 1, /^$/, /alpha option/],
      ['an alpha option at its default', ['--version', '--log-text-info-buffer-size=0'], 0, /^me/, /^$/],
      ['vmodule with JSON logs', ['--version', '--logging-format=json', '--vmodule=a=1'], 1, /^$/, /text logs only/],
      ['no registration path', [], 1, /^$/, /--kubelet-registration-path is required/],
      ['no registration path, in probe mode too', ['--mode=kubelet-registration-probe'], 1, /^$/, /is required/],
      ['probe mode', ['--kubelet-registration-path=/x', '--mode=kubelet-registration-probe'], 0, /^$/, /deprecated/],
      [
        'probe mode before the conflict of health flags',
        [
          '--kubelet-registration-path=/x',
          '--mode=kubelet-registration-probe',
          '--health-port=1',
          '--http-endpoint=:2',
        ],
        0,
        /^$/,
        /deprecated/,
      ],
      [
        'both health flags',
        ['--kubelet-registration-path=/x', '--health-port=1', '--http-endpoint=:2'],
        1,
        /^$/,
        /only one of/,
      ],
      ['a driver without a path', ['--kubelet-registration-path=/x', '--driver=/a'], 1, /^$/, /is not CSI-ADDRESS=/],
      ['an unknown reaction', ['--kubelet-registration-path=/x', '--on-driver-loss=x'], 1, /^$/, /ignore or exit/],
    ];
    for (const [what, args, code, out, err] of endings) {
      it(`ends with ${String(code)} for ${what}`, async () => {
        const running = rig.start(...args);
        assert.equal(await running.code, code);
        assert.match(running.out, out);
        assert.match(running.err, err);
      });
    }

    it('takes the flags of old manifests with one warning', async () => {
      await rig.driver();
      const running = await rig.startReady(
        '--logtostderr',
        '--stderrthreshold=2',
        '--connection-timeout=10s',
        '--automaxprocs',
      );
      assert.match(running.err, /"accepted without effect: --logtostderr, --stderrthreshold"/);
      assert.match(running.err, /--connection-timeout 10s is deprecated/);
    });

    it('ignores words behind the flags, and writes JSON when told to', async () => {
      await rig.driver();
      const running = await rig.startReady('--logging-format=json', '--v=5', 'positional', '--nope');
      for (const line of running.err.trim().split('\n')) assert.equal(typeof JSON.parse(line), 'object');
    });
  });

  describe('towards the driver', () => {
    const names: [what: string, fault: string[] | undefined, driver: string, err: RegExp][] = [
      [
        'answers an error',
        ['GetPluginInfo=status:UNAVAILABLE:no version'],
        DRIVER,
        /did not tell its name: 14 UNAVAILABLE: no version/,
      ],
      ['does not answer in time', ['GetPluginInfo=never'], DRIVER, /did not tell its name: 4 DEADLINE_EXCEEDED/],
      ['answers nonsense', ['GetPluginInfo=garbage'], DRIVER, /did not tell its name/],
      ['has no name', undefined, '', /the name \\"\\" of the CSI driver .* is empty/],
      ['has a name that leads elsewhere', undefined, '../evil', /is not in domain notation/],
    ];
    for (const [what, fault, driver, err] of names) {
      it(`ends with 1 when the driver ${what}`, async () => {
        await rig.driver({ driver, fault: (fault ?? []).flatMap((text) => parseFault(text, [])) });
        const running = rig.start(...rig.flags, '--timeout=200ms');
        assert.equal(await running.code, 1);
        assert.match(running.err, err);
        assert.equal(existsSync(rig.socket), false);
      });
    }

    it('repeats the query for the name when that is wanted', async () => {
      await rig.driver({ fault: parseFault('GetPluginInfo=status:UNAVAILABLE@2', []) });
      const running = await rig.startReady('--name-query-retry=10s');
      assert.match(running.err, /is repeated/);
    });

    it('waits for a driver that comes up later', async () => {
      const running = rig.start(...rig.flags, '-v=1');
      await running.says('Connecting to the CSI driver');
      await rig.driver();
      await running.says('Registration socket is ready');
    });

    it('says that it is still connecting, and gives up in the end', async () => {
      let written = '';
      const write = (line: string): void => void (written += line);
      const log = new RegistrarLog({ format: 'text', verbosity: 1, pid: 1, write, now: () => 0 });
      const alive = setInterval(() => undefined, 1000);
      const client = new DriverClient(rig.csiSocket, systemClock, log);
      const patience = { withinMs: 60, sayEveryMs: 20 };
      await assert.rejects(client.connect(new AbortController().signal, patience), (thrown: unknown) => {
        assert.ok(thrown instanceof Exit);
        assert.equal(thrown.code, 1);
        assert.match(thrown.message, /^nobody answers at .*c\.sock after 0\.06 s/);
        return true;
      });
      clearInterval(alive);
      assert.match(written, /Still connecting/);
      client.close();
    });

    it('ends with 0 when it is told to stop while it waits', async () => {
      const running = rig.start(...rig.flags, '-v=1');
      await running.says('Connecting to the CSI driver');
      assert.equal(await running.stop(), 0);
    });

    it('takes any gRPC target as address', async () => {
      await rig.driver();
      const running = rig.start(`--csi-address=unix://${rig.csiSocket}`, ...rig.flags.slice(1));
      await running.says('Registration socket is ready');
    });

    it('goes on when the driver is lost later, or ends when that is wanted', async () => {
      const driver = await rig.driver();
      const patient = await rig.startReady();
      const elsewhere = path.join(rig.folder, 'elsewhere');
      mkdirSync(elsewhere);
      const strict = rig.start(...rig.flags, '--on-driver-loss=exit', `--plugin-registration-path=${elsewhere}`);
      await strict.says('Registration socket is ready');
      await driver.stop();
      assert.equal(await strict.code, 1);
      assert.match(strict.err, /the connection to CSI driver csi\.sim\.example\.com at .* ended/);
      assert.equal((await callRegistrar(rig.socket, 'GetInfo')).name, DRIVER);
      assert.equal(await patient.stop(), 0);
    });
  });

  describe('towards the kubelet', () => {
    it('tells type, name, the path as it was given, and one version', async () => {
      await rig.driver();
      await rig.startReady();
      assert.deepEqual(await callRegistrar(rig.socket, 'GetInfo'), {
        type: 'CSIPlugin',
        name: DRIVER,
        endpoint: '/var/lib/kubelet/plugins/x/csi.sock',
        supportedVersions: ['1.0.0'],
      });
    });

    it('serves on a socket that only its owner may use', async () => {
      await rig.driver();
      await rig.startReady();
      const { mode } = lstatSync(rig.socket);
      assert.equal(mode & 0o7777, 0o700);
    });

    it('answers a good notification with nothing and goes on', async () => {
      await rig.driver();
      const running = await rig.startReady();
      assert.deepEqual(await callRegistrar(rig.socket, 'NotifyRegistrationStatus', identity(true)), {});
      assert.equal((await callRegistrar(rig.socket, 'GetInfo')).name, DRIVER);
      assert.equal(await running.stop(), 0);
    });

    it('answers a bad notification, ends with 1, leaves its socket, and writes down why', async () => {
      await rig.driver();
      const file = path.join(rig.folder, 'termination-log');
      const running = await rig.startReady(`--termination-log=${file}`);
      assert.deepEqual(await callRegistrar(rig.socket, 'NotifyRegistrationStatus', identity(false, 'no room')), {});
      assert.equal(await running.code, 1);
      assert.equal(existsSync(rig.socket), true);
      assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
        exitCode: 1,
        reason: 'Refused',
        message: `the kubelet refused CSI driver ${DRIVER}: no room`,
      });
    });

    it('answers other calls with UNIMPLEMENTED', async () => {
      await rig.driver();
      await rig.startReady();
      await assert.rejects(
        callRegistrar(rig.socket, 'GetInfo', {}).then(() => callUnknown(rig.socket)),
        { code: status.UNIMPLEMENTED },
      );
    });

    for (const authority of [
      '/var/lib/kubelet/plugins_registry/x-reg.sock',
      '%2Fvar%2Flib%2Fx.sock',
      'localhost',
      '',
    ]) {
      it(`answers a kubelet that sends ${JSON.stringify(authority)} as :authority`, async () => {
        await rig.driver();
        await rig.startReady();
        assert.equal(await getInfoWithAuthority(rig.socket, authority), DRIVER);
      });
    }
  });

  describe('and its socket', () => {
    it('replaces a socket that an earlier life left', async () => {
      await rig.driver();
      const first = await rig.startReady();
      await callRegistrar(rig.socket, 'NotifyRegistrationStatus', identity(false, 'x'));
      await first.code;
      await rig.startReady();
      assert.equal((await callRegistrar(rig.socket, 'GetInfo')).name, DRIVER);
    });

    it('leaves a file alone that is no socket, and ends with 1', async () => {
      await rig.driver();
      writeFileSync(rig.socket, 'precious');
      const running = rig.start(...rig.flags);
      assert.equal(await running.code, 1);
      assert.match(running.err, /exists and is not a socket/);
      assert.equal(readFileSync(rig.socket, 'utf8'), 'precious');
    });

    it('does not make its directory, and ends with 1', async () => {
      await rig.driver();
      rmSync(rig.registry, { recursive: true });
      const running = rig.start(...rig.flags);
      assert.equal(await running.code, 1);
      assert.match(running.err, /cannot listen on/);
      assert.equal(existsSync(rig.registry), false);
    });

    it('ends with 1 when the path is too long for a socket', async () => {
      await rig.driver();
      const deep = path.join(rig.registry, 'd'.repeat(90));
      mkdirSync(deep);
      const running = rig.start(...rig.flags, `--plugin-registration-path=${deep}`);
      assert.equal(await running.code, 1);
      assert.match(running.err, /a unix socket address holds 107/);
    });

    for (const [signal, code] of [
      ['SIGTERM', 0],
      ['SIGINT', 130],
    ] as const) {
      it(`is removed on ${signal}, and the exit code is ${String(code)}`, async () => {
        await rig.driver();
        const running = await rig.startReady();
        assert.equal(await running.stop(signal), code);
        assert.equal(existsSync(rig.socket), false);
      });
    }

    it('may be gone already on SIGTERM', async () => {
      await rig.driver();
      const running = await rig.startReady();
      rmSync(rig.socket);
      assert.equal(await running.stop(), 0);
    });

    it('of a successor is neither replaced nor removed', async () => {
      await rig.driver();
      const old = await rig.startReady('--recreate-socket');
      await rig.startReady();
      await pause(1000); // the old one has looked since
      assert.doesNotMatch(old.err, /made again/);
      assert.equal(await old.stop(), 0);
      assert.equal((await callRegistrar(rig.socket, 'GetInfo')).name, DRIVER);
    });

    it('stays away when somebody removes it, or is made again when that is wanted', async () => {
      await rig.driver();
      const running = await rig.startReady('--recreate-socket');
      rmSync(rig.socket);
      await running.says('was removed and is made again');
      await eventually('it is back', async () => (await callRegistrar(rig.socket, 'GetInfo')).name === DRIVER);
      assert.equal(await running.stop(), 0);
      assert.equal(existsSync(rig.socket), false);
    });
  });

  it('serves several drivers when it is told of them', async () => {
    const second = new Rig();
    await rig.driver();
    await second.driver({ driver: 'second.example.com' });
    const running = rig.start(...rig.flags, `--driver=${second.csiSocket}=/host/second.sock`);
    const socket = path.join(rig.registry, 'second.example.com-reg.sock');
    await eventually('both are there', () => existsSync(rig.socket) && existsSync(socket));
    assert.equal((await callRegistrar(socket, 'GetInfo')).endpoint, '/host/second.sock');
    assert.equal(await running.stop(), 0);
    assert.deepEqual([existsSync(rig.socket), existsSync(socket)], [false, false]);
    await second.close();
  });

  it('refuses two drivers of one name', async () => {
    await rig.driver();
    const running = rig.start(...rig.flags, `--driver=${rig.csiSocket}=/host/second.sock`);
    assert.equal(await running.code, 1);
    assert.match(running.err, /two of the drivers call themselves/);
  });
});

async function callUnknown(socket: string): Promise<void> {
  const trailers = await request(socket, '/pluginregistration.Registration/Nope', 'localhost');
  throw Object.assign(new Error('answered'), { code: Number(trailers.status) });
}

async function getInfoWithAuthority(socket: string, authority: string): Promise<string> {
  const { body } = await request(socket, '/pluginregistration.Registration/GetInfo', authority);
  return PluginInfo.decode(body.subarray(5)).name;
}

/** One gRPC call by hand, because clients of Node would not send such an authority. */
function request(socket: string, name: string, authority: string): Promise<{ body: Buffer; status: string }> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2('http://localhost', { createConnection: () => connect(socket) });
    session.on('error', reject);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: 'POST',
      [constants.HTTP2_HEADER_PATH]: name,
      [constants.HTTP2_HEADER_AUTHORITY]: authority,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const chunks: Buffer[] = [];
    let grpcStatus = '';
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const note = (headers: IncomingHttpHeaders): void => {
      grpcStatus = headers['grpc-status']?.toString() ?? grpcStatus;
    };
    stream.on('response', note).on('trailers', note).on('error', reject);
    stream.on('end', () => {
      session.close();
      resolve({ body: Buffer.concat(chunks), status: grpcStatus });
    });
    stream.end(Buffer.alloc(5));
  });
}
