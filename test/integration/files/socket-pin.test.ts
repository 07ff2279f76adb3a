import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pinRefusal } from '../../../src/admission/endpoint.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
import { SocketPaths } from '../../../src/platform/fs/socket-paths.js';
import { tempDir } from '../../support/temp-dir.js';

void describe('a file that is no socket', () => {
  void it('is refused in one sentence that says what it is', () => {
    const directory = tempDir();
    writeFileSync(path.join(directory, 'file'), '');
    mkdirSync(path.join(directory, 'folder'));
    const sentence = (name: string): string => {
      const found = pinSocket(path.join(directory, name));
      assert.ok('problem' in found);
      return pinRefusal('example.com/x', name, found, 1000).message;
    };
    assert.equal(sentence('file'), 'example.com/x: file is a file of another kind, not a unix socket');
    assert.equal(sentence('folder'), 'example.com/x: folder is a directory, not a unix socket');
    assert.equal(sentence('none'), 'example.com/x: there is no socket at none');
  });
});

void describe('the last descriptors', () => {
  void it('are not for sockets of ordinary users', async (t) => {
    const directory = tempDir();
    const file = path.join(directory, 'x.sock');
    const server = createServer();
    await new Promise<void>((resolve) => void server.listen(file, resolve));
    t.after(() => server.close());
    let isScarce = false;
    const descriptors = { areScarce: () => isScarce };
    const open = (): number => readdirSync('/proc/self/fd').length;
    const pin = (isTrusted: boolean): string => {
      const pinned = new SocketPaths([directory], () => isTrusted, descriptors).pin(file);
      if ('problem' in pinned) return pinRefusal('example.com/x', file, pinned, 1000).code;
      pinned.release();
      return 'pinned';
    };
    assert.deepEqual([pin(false), pin(true)], ['pinned', 'pinned']);
    isScarce = true;
    // Roots stay open until the code that runs now has ended.
    await new Promise(setImmediate);
    const before = open();
    assert.deepEqual([pin(false), pin(true)], ['BUSY', 'pinned']);
    await new Promise(setImmediate);
    assert.equal(open(), before);
  });

  void it('are given back where there is one for a directory and none to learn on which mount it is', () => {
    const directory = tempDir();
    const paths = new URL('../../../src/platform/fs/socket-paths.js', import.meta.url).href;
    const script = `
      import { closeSync, openSync, readdirSync } from 'node:fs';
      import { SocketPaths } from ${JSON.stringify(paths)};
      const held = [];
      const take = () => { try { for (;;) held.push(openSync('/dev/null', 'r')); } catch { closeSync(held.pop()); } };
      // The first round leaves one of Node's.
      let before;
      for (let round = 0; round < 6; round += 1) {
        if (round === 1) before = readdirSync('/proc/self/fd').length;
        take();
        new SocketPaths([${JSON.stringify(directory)}], () => true).keyAt(${JSON.stringify(`${directory}/x.sock`)});
        await new Promise(setImmediate);
        for (const fd of held.splice(0)) closeSync(fd);
      }
      const more = readdirSync('/proc/self/fd').length - before;
      process.stdout.write(String(more));
    `;
    const argv = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, script];
    assert.equal(execFileSync('/bin/sh', argv, { encoding: 'utf8' }), '0');
  });
});
