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
    verdict: /^passed: restarted itself, and its devices were there all the time/,
  },
  {
    what: 'restarts itself for ever',
    command: sim('--exit-after', '1500ms'),
    scenario: 'unlink-only',
    verdict:
      /^failed: it ended by itself with code \d+ after .*, again and again for 20 s: it has to be quiet for 3 s by itself/,
  },
  {
    what: 'has no healthy device every other second',
    command: sim('--devices', '1', '--flap', '1s'),
    scenario: 'first-list',
    verdict: /^failed: \S+ had no healthy device for a while, again and again for 20 s: /,
  },
  {
    what: 'is found again only because the broker removes its socket',
    command: sim('--resource', 'devices.kubevirt.io/kvm', '--watch', 'own-socket'),
    scenario: 'restart-nowipe',
    verdict: /^passed: served again .*; a rule of the broker saved it \(recycle: the broker removed its socket, /,
  },
  {
    what: 'changes its list, through twenty broken streams',
    command: sim('--flap', '300ms'),
    scenario: 'stream-break',
    verdict: /^passed: its devices came 20 times, the slowest list \d+ ms after its stream was opened$/,
  },
  {
    what: 'answers Allocate with something else each time',
    command: sim('--allocate-env', 'CALL={n}'),
    scenario: 'allocate',
    verdict: /^failed: Allocate of dev-0, dev-1 means something else the second time$/,
  },
  {
    what: 'answers Allocate for no container',
    command: sim('--fault', 'Allocate=empty'),
    scenario: 'allocate',
    verdict: /^failed: its answer to Allocate of dev-0, dev-1 is for no container, which a kubelet takes for an error$/,
  },
  {
    what: 'makes its socket anew for the new registry, under a call of Allocate',
    command: ['sh', '-c', restartedWhenTheRegistryIs('--watch', 'never', '--fault', 'Allocate=delay:600ms')],
    scenario: 'allocate',
    verdict: /^passed: answered for dev-0 and dev-1 with the same meaning three times, and 20 calls at once$/,
  },
  {
    what: 'refuses its first Allocate',
    command: sim('--fault', 'Allocate=status:UNAVAILABLE:no API server'),
    scenario: 'allocate',
    verdict: /^skipped: its first Allocate was refused, perhaps for want of something that is not here: no API server$/,
  },
  {
    what: 'never answers Allocate',
    command: sim('--fault', 'Allocate=never'),
    scenario: 'allocate',
    verdict: /^failed: Allocate of dev-0, dev-1 was not answered within 10 s$/,
  },
  {
    what: 'keeps what its options promise',
    command: sim('--pre-start', '--preferred-allocation'),
    scenario: 'prestart',
    verdict: /^passed: answered PreStartContainer, and named 2 devices that are available /,
  },
  {
    what: 'refuses PreStartContainer',
    command: sim('--pre-start', '--fault', 'PreStartContainer=status:INTERNAL:no firmware'),
    scenario: 'prestart',
    verdict: /^failed: PreStartContainer of dev-0 was refused: no firmware$/,
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
function words(...options: readonly string[]): string {
  return inShell([process.execPath, distFile(), 'sim', 'device', '--dir', '{devicePlugins}', ...options]);
}

/** A supervisor that sees a new kubelet.sock a moment later, and kills its plugin and starts it again. */
function restartedWhenTheRegistryIs(...options: readonly string[]): string {
  const identity = `"$(stat -c %i '{kubeletSocket}' 2>/dev/null || echo "$I")"`;
  const watched = `I=${identity}; while [ ${identity} = "$I" ]; do sleep 0.3; done; kill -9 $P`;
  return `trap 'kill $P; exit' TERM; while :; do ${words(...options)} & P=$!; ${watched}; done`;
}

void describe('verify tells a plugin that', { concurrency: 3 }, () => {
  for (const { what, command, scenario, verdict } of CASES) {
    void it(`${what}: ${scenario}`, async () => {
      // Names in braces are filled in in the environment, too.
      const { scenarios, stderr } = await verified(['--scenario', scenario], command, { LOCK: '{registry}/lock' });
      const last = scenarios.at(-1);
      assert.match(`${last?.verdict ?? stderr}: ${last?.evidence ?? ''}`, verdict);
    });
  }
});
