// Plugins that do wrong what one scenario is about, each in its own way.
import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { distFile } from '../support/dist.js';
import { inShell, simCommand, verified } from '../support/verifying.js';

const sim = (...options: readonly string[]): readonly string[] => simCommand(...options);
/** Its socket has the same name in each instance. */
const FIXED_NAME = ['--socket-name', 'fixed.sock'];

const CASES = [
  {
    what: 'sends no device',
    command: sim('--devices', '0'),
    scenario: 'first-list',
    verdict: /^failed: \S+ registered, but sent no list with a device within 10 s$/,
  },
  {
    what: 'has no healthy device',
    command: sim('--unhealthy', '2'),
    scenario: 'first-list',
    verdict: /^failed: \S+ sent a list of 2, and none of them is Healthy$/,
  },
  {
    what: 'speaks another version',
    command: sim('--api-version', 'v9'),
    scenario: 'first-list',
    verdict: /^failed: it asked to be registered \d+ times and was refused: .* version "v9" is not supported/,
  },
  {
    what: 'registers again and again',
    command: sim('--register-every', '100ms'),
    scenario: 'restart-nowipe',
    verdict: /^failed: it registered \d+ times within 3 s, a storm /,
  },
  {
    what: 'restarts its server because of a new kubelet.sock',
    command: sim('--on-cue', 'restart', '--watch', 'create'),
    scenario: 'sock-only',
    verdict: /^failed: the devices of \S+ were gone for a while, although its own socket was not touched$/,
  },
  {
    what: 'exits when its socket is gone',
    command: sim('--on-cue', 'exit', '--watch', 'own-socket'),
    scenario: 'unlink-only',
    verdict: /^passed: exited with code 0 after .*, and came back when it was started again$/,
  },
  {
    what: 'crashes at a second stream',
    command: sim('--second-watch', 'crash'),
    scenario: 'stream-break',
    verdict: /^failed: after 1 of 20 cancelled streams: it ended with code 2 after /,
  },
  {
    what: 'calls in a hot loop when it is refused',
    command: [process.execPath, path.join(import.meta.dirname, '../support/hot-loop-process.js'), '{devicePlugins}'],
    scenario: 'refuse',
    verdict: /^failed: was refused \d+ times within 5 s: it calls in a hot loop and ignores the RetryInfo/,
  },
  {
    what: 'exits when it is told no',
    command: sim('--door', 'watcher', '--on-notify-false', 'exit'),
    scenario: 'notify-false',
    verdict: /^passed: exited with code 1 after .*, and came back when it was started again$/,
  },
  {
    what: 'gives a call five seconds',
    command: sim('--register-timeout', '5s'),
    scenario: 'hang',
    verdict: /^passed: called twice meanwhile, and was served /,
  },
  {
    what: 'fights its successor for the name of its socket',
    command: sim(...FIXED_NAME, '--watch', 'own-socket'),
    scenario: 'overlap',
    verdict: /^failed: the (devices of \S+ were gone|socket of the second instance|second instance did not)/,
  },
  {
    what: 'yields its name to its successor',
    command: sim(...FIXED_NAME, '--watch', 'create'),
    scenario: 'overlap',
    verdict: /^passed: the second took over, /,
  },
  {
    what: 'cannot run twice',
    command: ['sh', '-c', `mkdir "$LOCK" || exit 7; trap 'rmdir "$LOCK"; kill $!' TERM; ${words()} & wait`],
    scenario: 'overlap',
    verdict: /^failed: the second instance ended with code 7 after .* beside the first; its last words: mkdir: /,
  },
];

/** The command of a simulation for a shell. */
function words(): string {
  return inShell([process.execPath, distFile(), 'sim', 'device', '--dir', '{devicePlugins}']);
}

void describe('verify tells a plugin that', { concurrency: 4 }, () => {
  for (const { what, command, scenario, verdict } of CASES) {
    void it(`${what}: ${scenario}`, async () => {
      // Names in braces are filled in in the environment, too.
      const { scenarios, stderr } = await verified(['--scenario', scenario], command, { LOCK: '{registry}/lock' });
      const last = scenarios.at(-1);
      assert.match(`${last?.verdict ?? stderr}: ${last?.evidence ?? ''}`, verdict);
    });
  }
});
