import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { pinRefusal } from '../../../src/admission/endpoint.js';
import { pinSocket } from '../../../src/platform/fs/socket-pin.js';
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
