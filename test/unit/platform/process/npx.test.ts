import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { npxAbove } from '../../../../src/platform/process/npx.js';

describe('npx above a program', () => {
  const processes = new Map([
    [1, { name: 'systemd', parent: 0 }],
    [10, { name: 'bash', parent: 1 }],
    [20, { name: 'npm exec plugin', parent: 10 }],
    [30, { name: 'sh', parent: 20 }],
    [40, { name: 'node', parent: 30 }],
    [50, { name: 'npm run start', parent: 10 }],
  ]);
  const rows: readonly { what: string; parent: number; watched: readonly number[] }[] = [
    { what: 'npx itself where its shell became us', parent: 20, watched: [20] },
    { what: "npx and the shell where npx's shell stayed", parent: 30, watched: [30, 20] },
    { what: 'nobody where another program of ours started us', parent: 40, watched: [] },
    { what: 'nobody where a shell or a script of npm started us', parent: 10, watched: [] },
    { what: 'nobody where the system shows no processes', parent: 99, watched: [] },
    { what: 'nobody for npm run', parent: 50, watched: [] },
  ];
  for (const { what, parent, watched } of rows) {
    it(`is ${what}`, () =>
      assert.deepEqual(
        npxAbove(parent, (pid) => processes.get(pid)),
        watched,
      ));
  }
});
