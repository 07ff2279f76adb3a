import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { needOnlyOurs } from '../../../src/platform/kubelet/only-ours.js';
import { tempDir } from '../../support/temp-dir.js';

/** A directory with this mode, whatever the umask is. */
function directory(where: string, mode: number): string {
  mkdirSync(where, { recursive: true });
  chmodSync(where, mode);
  return where;
}

describe("a kubelet's directory in which the front serves", () => {
  it('is one that root makes, and those above it are', () => {
    const root = tempDir();
    for (const mode of [0o700, 0o750, 0o755]) needOnlyOurs(directory(path.join(root, String(mode)), mode));
    needOnlyOurs(path.join(root, 'not', 'made'));
  });

  it('may not be written by its group, whichever it is: with an ACL those bits are the most it gives anybody', () => {
    const plugins = directory(path.join(tempDir(), 'device-plugins'), 0o775);
    const gid = String(process.getegid?.());
    assert.throws(
      () => needOnlyOurs(plugins),
      new RegExp(`device-plugins may be written by group ${gid}, or by those`),
    );
  });

  it('may not be sticky and be written by all: a file that is made anew in it may be theirs', () => {
    const plugins = directory(path.join(tempDir(), 'device-plugins'), 0o1777);
    assert.throws(() => needOnlyOurs(plugins), /device-plugins may be written by everybody/);
  });

  it('may not stand below one that others may write, unless that is sticky and the next name of the way in it is ours', () => {
    const above = directory(path.join(tempDir(), 'above'), 0o755);
    const plugins = directory(path.join(above, 'kubelet', 'device-plugins'), 0o755);
    needOnlyOurs(plugins);
    for (const mode of [0o775, 0o777]) {
      chmodSync(above, mode);
      assert.throws(() => needOnlyOurs(plugins), /\/above may be written by .* chmod go-w/);
    }
    // As a missing directory: the first user to come would make it.
    assert.throws(
      () => needOnlyOurs(path.join(above, 'other', 'device-plugins')),
      /\/above may be written by everybody/,
    );
    chmodSync(above, 0o1777);
    needOnlyOurs(plugins);
    assert.throws(
      () => needOnlyOurs(path.join(above, 'other', 'device-plugins')),
      /\/above may be written by everybody/,
    );
  });

  it('may not be reached by a link that others may exchange', () => {
    const root = tempDir();
    const plugins = directory(path.join(root, 'kubelet', 'device-plugins'), 0o755);
    const shared = directory(path.join(root, 'shared'), 0o755);
    symlinkSync(path.dirname(plugins), path.join(shared, 'link'));
    const byLink = path.join(shared, 'link', 'device-plugins');
    needOnlyOurs(byLink);
    chmodSync(shared, 0o777);
    assert.throws(() => needOnlyOurs(byLink), /\/shared may be written by everybody/);
    chmodSync(path.dirname(plugins), 0o777);
    chmodSync(shared, 0o755);
    assert.throws(
      () => needOnlyOurs(byLink),
      /\/kubelet may be written by everybody|\/link may be written by everybody/,
    );
  });
});
