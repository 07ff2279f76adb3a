import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { distFile } from '../../support/dist.js';
import { eventually } from '../../support/eventually.js';
import { brokerEvent, FakeAdminPort, pluginView } from '../../support/fake-admin-port.js';
import { start, startCommand } from '../../support/program.js';
import { serveAdmin, type ServedAdminApi } from '../../support/served-admin.js';
import { tempDir } from '../../support/temp-dir.js';

const root = tempDir();
const address = path.join(root, 'broker.sock');
const SCRIPT = '/usr/bin/script';
let served: ServedAdminApi | undefined;

afterEach(() => {
  served?.cut();
  served = undefined;
});

function seqs(output: string): readonly number[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{'));
  return lines.map((line) => (JSON.parse(line) as { seq: number }).seq);
}

describe('events --follow', () => {
  it('goes on where it was when the daemon comes back, and ends with 0 on Ctrl-C', async () => {
    const port = new FakeAdminPort();
    port.eventList = [brokerEvent({ seq: 1 })];
    served = await serveAdmin(address, port);
    const following = start(['events', '--follow', '-o', 'json', '--root', root]);
    await eventually('the first event', () => seqs(following.stdout()).length === 1);
    await eventually('it waits for more', () => port.followers === 1);
    port.happen(brokerEvent({ seq: 2 }));
    await eventually('the second event', () => seqs(following.stdout()).length === 2);
    served.cut();
    await eventually('it says that the daemon is gone', () => following.stderr().includes('waiting for it'));
    port.eventList.push(brokerEvent({ seq: 3 }));
    served = await serveAdmin(address, port);
    await eventually('the third event', () => seqs(following.stdout()).length === 3);
    following.child.kill('SIGINT');
    const { code, stdout } = await following.ended;
    assert.deepEqual([code, seqs(stdout)], [0, [1, 2, 3]]);
  });

  it('lets go of the daemon when it ends', async () => {
    const port = new FakeAdminPort();
    served = await serveAdmin(address, port);
    const following = start(['events', '--follow', '--root', root]);
    await eventually('it follows', () => port.followers === 1);
    following.child.kill('SIGKILL');
    await following.ended;
    await eventually('nobody follows', () => port.followers === 0);
  });

  it('ends quietly when nobody reads it any more', async () => {
    const port = new FakeAdminPort();
    port.eventList = Array.from({ length: 5_000 }, (_, index) => brokerEvent({ seq: index }));
    served = await serveAdmin(address, port);
    const line = `"$0" "$1" events --follow --root "$2" | head -n 1`;
    const piped = startCommand('/bin/sh', ['-c', line, process.execPath, distFile(), root]);
    const { code, stdout, stderr } = await piped.ended;
    assert.deepEqual([code, stderr, stdout.split('\n').length], [0, '', 2]);
  });
});

describe('--watch', () => {
  it('in a pipe appends a frame at each look, and ends with 0 on Ctrl-C', async () => {
    const port = new FakeAdminPort();
    port.pluginList = [pluginView()];
    served = await serveAdmin(address, port);
    const watching = start(['plugins', '--watch', '--interval', '0.1', '--root', root]);
    const frames = (): number => watching.stdout().split('NAME ').length - 1;
    await eventually('two frames', () => frames() >= 2);
    port.pluginList = [pluginView({ state: 'held' })];
    await eventually('a frame with the change', () => /held/.test(watching.stdout()));
    watching.child.kill('SIGINT');
    const { code, stdout, stderr } = await watching.ended;
    assert.deepEqual([code, stderr], [0, '']);
    assert.doesNotMatch(stdout, /\u001b/);
  });

  it('with -o json writes one value a line', async () => {
    const port = new FakeAdminPort();
    port.pluginList = [pluginView()];
    served = await serveAdmin(address, port);
    const watching = start(['plugins', '--watch', '--interval', '0.1', '-o', 'json', '--root', root]);
    await eventually('two lines', () => watching.stdout().split('\n').length > 2);
    watching.child.kill('SIGTERM');
    const { code, stdout } = await watching.ended;
    assert.equal(code, 0);
    for (const line of stdout.trimEnd().split('\n')) assert.deepEqual(JSON.parse(line), [pluginView()]);
  });

  it('ends with 69 where there is no daemon to begin with', async () => {
    assert.equal((await start(['status', '--watch', '--root', path.join(root, 'none')]).ended).code, 69);
  });

  const skip = existsSync(SCRIPT) ? false : `NOT TESTED: there is no ${SCRIPT} to give us a terminal`;
  it(
    'on a terminal redraws in colours, survives a restart of the daemon, and ends with 0 on Ctrl-C',
    { skip },
    async () => {
      const port = new FakeAdminPort();
      port.pluginList = Array.from({ length: 100 }, (_, index) => pluginView({ name: `a.io/${index}` }));
      served = await serveAdmin(address, port);
      const watch = `stty rows 10 cols 60; exec "${process.execPath}" "${distFile()}" plugins --watch --interval 0.1 --root "${root}"`;
      const watching = startCommand(SCRIPT, ['-qefc', watch, '/dev/null'], {
        TERM: 'xterm',
        NO_COLOR: '',
        SHELL: '/bin/sh',
      });
      const frames = (): readonly string[] => watching.stdout().split('\u001b[H').slice(1);
      const complete = (): readonly string[] => frames().filter((frame) => frame.endsWith('\u001b[J'));
      await eventually('two frames', () => complete().length >= 2);
      const [frame = ''] = complete();
      assert.equal(frame.split('\n').length - 1, 9, 'a frame is a line shorter than the terminal');
      assert.match(frame, /… 93 more lines/);
      assert.match(frame, /\u001b\[32mready\u001b\[39m/);

      for (const line of frame.split('\n'))
        assert.ok(line.replace(/\u001b\[[0-9;]*[a-zA-Z]/g, '').trimEnd().length <= 60);
      served.cut();
      await eventually('it says that the daemon is gone', () => /cannot be reached/.test(complete().at(-1) ?? ''));
      port.pluginList = [pluginView({ name: 'a.io/back', state: 'quarantined' })];
      served = await serveAdmin(address, port);
      await eventually('it shows the new daemon', () => /a\.io\/back/.test(complete().at(-1) ?? ''));
      assert.doesNotMatch(complete().at(-1) ?? '', /more lines/);
      watching.child.kill('SIGINT');
      const { code, signal } = await watching.ended;
      assert.deepEqual([code, signal], [0, null]);
    },
  );

  it('on a terminal has no colours with NO_COLOR', { skip }, async () => {
    const port = new FakeAdminPort();
    port.pluginList = [pluginView()];
    served = await serveAdmin(address, port);
    const plugins = (env: NodeJS.ProcessEnv): Promise<string> => {
      const line = `exec "${process.execPath}" "${distFile()}" plugins --root "${root}"`;
      return startCommand(SCRIPT, ['-qefc', line, '/dev/null'], { TERM: 'xterm', SHELL: '/bin/sh', ...env }).ended.then(
        ({ stdout }) => stdout,
      );
    };
    assert.match(await plugins({ NO_COLOR: '' }), /\u001b\[32m/);
    assert.doesNotMatch(await plugins({ NO_COLOR: '1' }), /\u001b/);
    assert.doesNotMatch(await plugins({ NO_COLOR: '', TERM: 'dumb' }), /\u001b/);
  });
});
