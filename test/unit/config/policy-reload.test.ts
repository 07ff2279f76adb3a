import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { changeText, diffForms } from '../../../src/config/diff.js';
import { LiveConfig, makeGeneration } from '../../../src/config/live-config.js';
import { PolicyReload } from '../../../src/config/policy-reload.js';
import { STANDARD_PENALTY } from '../../../src/model/standard-penalty.js';
import type { ConfigForm } from '../../../src/config/file-form.js';
import type { FormSource, ReadResult } from '../../../src/config/ports.js';
import type { Log } from '../../../src/kernel/log.js';
import { compileGlob } from '../../../src/platform/config/globs.js';
import { FakeClock } from '../../support/fake-clock.js';
import { formWith, somewhere } from '../../support/config.js';

const { flood, log: logForm, http, admission } = formWith();
const locate = () => undefined;
const burstOf = (burst: number): ConfigForm['flood'] => ({ ...flood, register: { ...flood.register, burst } });

/** A reload over a source whose answer the test sets, with everything it says. */
function reloading() {
  const clock = new FakeClock();
  const said: string[] = [];
  const note =
    (level: string) =>
    (event: string, message: string): void =>
      void said.push(`${level} ${event}: ${message}`);
  const log: Log = { error: note('error'), warn: note('warn'), info: note('info'), debug: note('debug') };
  const live = new LiveConfig(makeGeneration(formWith(), '/r', somewhere, compileGlob), 'b.yaml', 'at start');
  const state = { answer: { form: formWith(), locate } as ReadResult, reads: 0 };
  const source: FormSource = {
    name: 'b.yaml',
    file: 'b.yaml',
    looks: () => '',
    read: async () => {
      state.reads++;
      const { answer } = state;
      return Promise.resolve(answer);
    },
  };
  const events = { record: ({ type }: { type: string }) => void said.push(`event ${type}`) };
  const reload = new PolicyReload({
    source,
    live,
    rootFlag: '/r',
    around: somewhere,
    compile: compileGlob,
    clock,
    log,
    events,
  });
  return {
    live,
    said,
    state,
    reload,
    give: (changed: Partial<ConfigForm>) => (state.answer = { form: formWith(changed), locate }),
  };
}

describe('a reload', () => {
  it('puts a changed policy in force at once, and says what changed', async () => {
    const { live, said, give, reload } = reloading();
    let told = 0;
    live.onChange(() => told++);
    give({ flood: burstOf(8), rules: [{ match: { name: 'a.b/*' }, reattach: 'probe' }] });
    const outcome = await reload.reload('SIGHUP');
    assert.equal(outcome.kind, 'applied');
    assert.equal(live.flood.register.burst, 8);
    assert.equal(live.policyFor('DevicePlugin', 'a.b/c', '/s').reattach, 'probe');
    assert.equal(told, 1);
    assert.match(said.join('\n'), /info config\.reloaded: .*SIGHUP.*flood\.register\.burst: 5 → 8/);
    assert.deepEqual(live.view(), { source: 'b.yaml', loadedAt: '2030-01-01T00:00:00.000Z', error: '' });
  });

  it('asks plugins whether they live as the new settings say', async () => {
    const { live, give, reload } = reloading();
    give({ liveness: { interval: '7s', timeout: '2s', failures: 4 } });
    await reload.reload('SIGHUP');
    assert.deepEqual(live.liveness, { intervalMs: 7000, timeoutMs: 2000, failures: 4 });
  });

  it('keeps what needs a restart, says so each time, and takes the rest', async () => {
    const { live, said, give, reload } = reloading();
    give({
      http: { listen: 'off', page: 'on', allowedHosts: [] },
      log: { ...logForm, level: 'debug' },
      admission: { ...admission, maxMessageBytes: '1MiB', maxPlugins: 7 },
    });
    for (const round of [1, 2]) {
      const outcome = await reload.reload('SIGHUP');
      assert.ok(outcome.kind !== 'refused');
      assert.deepEqual(outcome.needRestart.map(changeText), [
        `http.listen: ${http.listen} → off`,
        'admission.maxMessageBytes: 16MiB → 1MiB',
      ]);
      assert.equal(said.filter((line) => line.startsWith('warn config.restart-needed')).length, round);
    }
    assert.equal(live.logLevel, 'debug');
    assert.equal(live.admission.maxPlugins, 7);
    assert.equal(live.admission.maxMessageBytes, 16 * 2 ** 20);
    assert.notEqual(live.current.settings.http.listen, undefined);
  });

  it('changes which names are allowed', async () => {
    const { live, give, reload } = reloading();
    assert.deepEqual([live.nameAllowed('a.b/c'), live.nameAllowed('csi.x')], [true, true]);
    give({ admission: { ...admission, allowNames: ['a.b/*', 'csi.*'], denyNames: ['*/secret'] } });
    await reload.reload('SIGHUP');
    const names = ['a.b/c', 'csi.x', 'z.b/c', 'a.b/secret'];
    assert.deepEqual(
      names.map((name) => live.nameAllowed(name)),
      [true, true, false, false],
    );
  });

  it('of a file that says the same in other words changes nothing', async () => {
    const { live, give, reload } = reloading();
    const before = live.current;
    give({ flood: { ...flood, register: { ...flood.register, interval: '2000ms' } } });
    assert.equal((await reload.reload('SIGHUP')).kind, 'unchanged');
    assert.equal(live.current, before);
  });

  it('of a bad file changes nothing and shows the problem until a good one comes', async () => {
    const { live, said, state, give, reload } = reloading();
    const before = live.current;
    const problem = { path: ['flood', 'mode'], message: '"x" is not a mode', remedy: 'write one', line: 3, column: 2 };
    state.answer = { problems: [problem, { ...problem, line: 9 }], locate };
    assert.equal((await reload.reload('the file changed')).kind, 'refused');
    assert.equal(live.current, before);
    assert.equal(live.view().error, 'b.yaml:3:2: flood.mode: "x" is not a mode; write one (and 1 more problems)');
    assert.match(said.join('\n'), /error config\.reload-refused: the old policy stays in force/);
    assert.ok(said.includes('event policy'));
    give({});
    await reload.reload('the file changed');
    assert.equal(live.view().error, '');
  });

  it('of a file that contradicts itself changes nothing either', async () => {
    const { live, give, reload } = reloading();
    give({ flood: { ...burstOf(9), penalty: { ...STANDARD_PENALTY, max: '1s' } } });
    assert.equal((await reload.reload('SIGHUP')).kind, 'refused');
    assert.equal(live.flood.register.burst, 5);
    assert.match(live.view().error, /flood\.penalty\.quarantine/);
  });

  it('requested many times at once runs twice: the last run has seen the last file', async () => {
    const { live, state, give, reload } = reloading();
    const first = reload.reload('SIGHUP');
    give({ flood: burstOf(6) });
    const others = [reload.reload('SIGHUP'), reload.reload('SIGHUP'), reload.reload('SIGHUP')];
    await Promise.all([first, ...others]);
    assert.equal(state.reads, 2);
    assert.equal(live.flood.register.burst, 6);
  });
});

describe('the difference of two forms', () => {
  it('names keys as the file does, rules by their number, and what was not set', () => {
    const before = formWith({ rules: [{ match: { name: 'a' } }], admission: { ...admission, allowUids: [1] } });
    const after = formWith({
      rules: [{ match: { name: 'b' }, grace: '1s' }],
      admission: { ...admission, allowUids: 'any' },
    });
    assert.deepEqual(diffForms(before, after).map(changeText).sort(), [
      'admission.allowUids: [1] → any',
      'rules[0].grace: (not set) → 1s',
      'rules[0].match.name: a → b',
    ]);
    assert.deepEqual(
      diffForms(formWith({ rules: [] }), formWith({ rules: [{ match: { name: 'a' } }] })).map(changeText),
      ['rules[0].match.name: (not set) → a'],
    );
  });
});
