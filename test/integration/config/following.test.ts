import { after, describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { BrokerProcess } from '../../support/broker-process.js';
import { eventually } from '../../support/eventually.js';
import { followConfig, loadLive, type FollowedConfig } from '../../support/followed-config.js';
import { tempDir } from '../../support/temp-dir.js';

const open: FollowedConfig[] = [];
const brokers: BrokerProcess[] = [];
after(async () => {
  await Promise.all(open.map((followed) => followed.close()));
  await Promise.all(brokers.map((one) => one.close()));
});

async function follow(file?: string): Promise<FollowedConfig> {
  const followed = await followConfig(file);
  open.push(followed);
  return followed;
}

const burst = (permits: number) => `flood: { register: { burst: ${permits} } }\n`;
const inForce = (loaded: FollowedConfig, permits: number) =>
  eventually(`a burst of ${permits}`, () => loaded.live.flood.register.burst === permits);

describe('a followed file', () => {
  it('counts as soon as it was written in place, replaced by a rename, or removed and written again', async () => {
    const file = path.join(tempDir(), 'b.yaml');
    writeFileSync(file, burst(6));
    const loaded = await follow(file);
    assert.equal(loaded.live.flood.register.burst, 6);
    writeFileSync(file, burst(7));
    await inForce(loaded, 7);
    writeFileSync(`${file}~`, burst(8));
    renameSync(`${file}~`, file);
    await inForce(loaded, 8);
    writeFileSync(file, burst(9));
    await inForce(loaded, 9);
    rmSync(file);
    await eventually('the missing file is told', () => loaded.live.view().error.includes('ENOENT'));
    assert.equal(loaded.live.flood.register.burst, 9);
    writeFileSync(file, burst(10));
    await inForce(loaded, 10);
    assert.equal(loaded.live.view().error, '');
  });

  it('counts when it changed after it was read and before it was watched', async () => {
    const file = path.join(tempDir(), 'b.yaml');
    writeFileSync(file, burst(6));
    const loaded = await followConfig(file, () => writeFileSync(file, burst(17)));
    open.push(loaded);
    await inForce(loaded, 17);
  });

  it('counts when it changed while a broker that had read it was still starting', async () => {
    const root = tempDir();
    const policy = (permits: number): object => ({ flood: { register: { burst: permits } } });
    const before = new BrokerProcess(root, policy(6));
    const one = new BrokerProcess(root, policy(6));
    brokers.push(before, one);
    await before.start();
    // It keeps the lock, and answers nobody: the next one waits for it.
    process.kill(before.pid ?? 0, 'SIGSTOP');
    const starting = one.start();
    await eventually('it has read the file and waits', () => one.log.includes('this one waits'));
    one.configure(policy(17));
    await before.end('SIGKILL');
    await starting;
    await eventually('it is in force', () => one.log.includes('flood.register.burst: 6 → 17'));
  });

  it('counts when its ConfigMap is swapped, again and again', async () => {
    const folder = tempDir();
    const swapIn = (generation: number): void => {
      const name = `..g${generation}`;
      mkdirSync(path.join(folder, name));
      writeFileSync(path.join(folder, name, 'b.yaml'), burst(generation));
      symlinkSync(name, path.join(folder, '..data_tmp'));
      renameSync(path.join(folder, '..data_tmp'), path.join(folder, '..data'));
      rmSync(path.join(folder, `..g${generation - 1}`), { recursive: true, force: true });
    };
    swapIn(11);
    symlinkSync('..data/b.yaml', path.join(folder, 'b.yaml'));
    const loaded = await follow(path.join(folder, 'b.yaml'));
    for (const generation of [12, 13, 14]) {
      swapIn(generation);
      await inForce(loaded, generation);
    }
  });

  it('counts when it is a link to a file elsewhere that changes', async () => {
    const [here, there] = [tempDir(), tempDir()];
    writeFileSync(path.join(there, 'real.yaml'), burst(3));
    symlinkSync(path.join(there, 'real.yaml'), path.join(here, 'b.yaml'));
    const loaded = await follow(path.join(here, 'b.yaml'));
    writeFileSync(path.join(there, 'real.yaml'), burst(4));
    await inForce(loaded, 4);
  });

  it('counts when its whole directory was replaced, of which no event tells', async () => {
    const folder = path.join(tempDir(), 'etc');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'b.yaml'), burst(3));
    const loaded = await follow(path.join(folder, 'b.yaml'));
    renameSync(folder, `${folder}.old`);
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'b.yaml'), burst(4));
    await inForce(loaded, 4);
  });

  it('is read again on request, and the defaults too', async () => {
    const loaded = await follow();
    assert.equal((await loaded.reload()).kind, 'unchanged');
    assert.equal(loaded.live.view().source, 'defaults');
  });
});

/** Broken files, and the news for the operator: the key, the place, the remedy. */
const BROKEN: readonly (readonly [kind: string, text: string | Buffer, told: RegExp])[] = [
  ['a syntax error', 'flood:\n  register: {burst: 5\n', /b\.yaml:3:1: it is not YAML: .*; correct the syntax/],
  ['a tab as indentation', 'flood:\n\tmode: observe\n', /b\.yaml:2:1: it is not YAML: .*tab.*; correct/i],
  ['a key twice', 'log: {level: info}\nlog: {level: debug}\n', /b\.yaml:2:1: it is not YAML: .*unique.*; correct/],
  [
    'an unknown key',
    'flood:\n  registr: {burst: 5}\n',
    /b\.yaml:2:3: flood\.registr: there is no such key; did you mean register\?/,
  ],
  ['an unknown section', 'floods: {}\n', /b\.yaml:1:1: floods: there is no such key; did you mean flood\?/],
  [
    'a wrong type',
    'flood:\n  register:\n    burst: many\n',
    /b\.yaml:3:5: flood\.register\.burst: "many" is not a whole number from 1 to 1000000; .*default 5/,
  ],
  [
    'a duration without unit',
    'timeouts: {register: 10}\n',
    /b\.yaml:1:12: timeouts\.register: 10 is not a duration .*2s, 5m or 1h; .*default 10s/,
  ],
  [
    'a word that is none of the choices',
    'flood: {mode: observ}\n',
    /b\.yaml:1:9: flood\.mode: "observ" is not one of enforce, observe; did you mean observe\?/,
  ],
  [
    'a figure out of range',
    'flood:\n  penalty: {factor: 0.5}\n',
    /b\.yaml:2:13: flood\.penalty\.factor: 0\.5 is not a number from 1 to 1000; .*default 2/,
  ],
  [
    'a rule without match',
    'rules:\n- {reattach: probe}\n',
    /b\.yaml:2:3: rules\[0\]\.match: it is missing; write a section/,
  ],
  [
    'a rule for nobody',
    'rules:\n- match: {}\n',
    /b\.yaml:2:3: rules\[0\]\.match: it names neither .*; write name: '\*'/,
  ],
  [
    'a rule for a type that nobody serves',
    'rules:\n- match: {type: deviceplugin}\n',
    /b\.yaml:2:11: rules\[0\]\.match\.type: no plugin has the type deviceplugin; write one of DevicePlugin, CSIPlugin, DRAPlugin/,
  ],
  [
    'a section without keys',
    'flood:\nlog: {level: debug}\n',
    /b\.yaml:1:1: flood: null is not a section of keys; .*remove the key/,
  ],
  [
    'figures that contradict each other',
    'discovery:\n  retryFirst: 1m\n',
    /b\.yaml:2:3: discovery\.retryFirst: 1m is more than discovery\.retryMax \(30s\); lower it/,
  ],
  ['a list at the top', '- flood\n', /b\.yaml: \["flood"\] is not a section of keys; write keys and values/],
  ['an empty file', '', /b\.yaml: the file is empty; write \{\}/],
  [
    'bytes that are no text',
    Buffer.from([0x61, 0x3a, 0xff, 0xfe]),
    /b\.yaml: it is not text in UTF-8; save it as UTF-8/,
  ],
  ['two documents', 'log: {level: debug}\n---\nlog: {level: warn}\n', /b\.yaml:2:1: it has several documents /],
  ['an alias bomb', `a: &a [${'x,'.repeat(50)}]\nb: &b [${'*a,'.repeat(50)}]\nc: [${'*b,'.repeat(50)}]\n`, /alias/i],
  [
    'a door inside the other',
    'paths:\n  state: plugins_registry/x\n',
    /b\.yaml:2:3: paths\.state: \/r\/plugins_registry\/x is the same as or inside/,
  ],
  ['a key named like a prototype', '__proto__: {x: 1}\n', /b\.yaml:1:1: __proto__: there is no such key/],
];

describe('aliases', () => {
  it('stand for what was written, and take the defaults of where they stand', async () => {
    const file = path.join(tempDir(), 'b.yaml');
    writeFileSync(file, 'flood:\n  register: &some { burst: 9 }\n  global: { register: *some }\n');
    const { settings } = await loadLive(file);
    assert.deepEqual([settings.flood.register.burst, settings.flood.register.intervalMs], [9, 2000]);
    assert.deepEqual([settings.flood.globalRegister.burst, settings.flood.globalRegister.intervalMs], [9, 5]);
  });
});

describe('a broken file', () => {
  const folder = tempDir();
  const file = path.join(folder, 'b.yaml');

  for (const [kind, text, told] of BROKEN) {
    it(`with ${kind} keeps the old policy and names line, key and remedy`, async () => {
      writeFileSync(file, burst(6));
      const loaded = await follow(file);
      const before = loaded.live.current;
      writeFileSync(file, text);
      assert.equal((await loaded.reload()).kind, 'refused');
      assert.equal(loaded.live.current, before);
      assert.match(loaded.live.view().error, told);
      await assert.rejects(loadLive(file), { name: 'ConfigInvalid' });
    });
  }

  it('shows all its problems at once, in the order of the file', async () => {
    writeFileSync(file, 'log: {level: loud}\nflood:\n  mode: x\n  burst: 5\nrules:\n- match: {nam: a}\n');
    await assert.rejects(loadLive(file), (thrown: Error) => {
      const keys = thrown.message.split('\n').map((line) => /: ([\w.[\]]+): /.exec(line)?.[1]);
      assert.deepEqual(keys, ['log.level', 'flood.mode', 'flood.burst', 'rules[0].match.nam']);
      return true;
    });
  });

  it('shows problems between settings beside those of its form, and none that a wrong key only seems to make', async () => {
    const keysOf = async (text: string): Promise<readonly (string | undefined)[]> => {
      writeFileSync(file, text);
      const found: (string | undefined)[] = [];
      await assert.rejects(loadLive(file), (thrown: Error) => {
        found.push(...thrown.message.split('\n').map((line) => /: ([\w.[\]]+): /.exec(line)?.[1]));
        return true;
      });
      return found;
    };
    const both = 'flod: {}\nhttp: {listen: nonsense, pag: 1}\nrules:\n- match: {}\n- match: {name: a}\n  grac: 1s\n';
    assert.deepEqual(await keysOf(both), ['flod', 'http.listen', 'http.pag', 'rules[0].match', 'rules[1].grac']);
    assert.deepEqual(await keysOf('log: {level: loud}\nrules: [3]\npaths: {root: relative}\n'), [
      ...['log.level', 'rules[0]', 'paths.root'],
    ]);
    assert.deepEqual(await keysOf('paths: {map: [{from: /a}], state: device-plugins}\n'), [
      'paths.map[0].to',
      'paths.state',
    ]);
    for (const [text, key] of [
      ['discovery: {retryFirst: 31s, retryMax: soon}\n', 'discovery.retryMax'],
      ['socket: {mode: 755, group: 0}\n', 'socket.mode'],
      [
        'flood: {penalty: {max: never}}\nrules:\n- match: {name: a}\n  flood: {penalty: {quarantine: 11m}}\n',
        'flood.penalty.max',
      ],
      ['rules:\n- match: {name: 7}\n', 'rules[0].match.name'],
      ['rules:\n- grace: 1s\n', 'rules[0].match'],
      ['- 1\n', undefined],
    ] as const) {
      assert.deepEqual(await keysOf(text), [key], text);
    }
    writeFileSync(file, '{}\n');
    const followed = await follow(file);
    writeFileSync(file, both);
    const outcome = await followed.reload();
    assert.equal(outcome.kind === 'refused' && outcome.problems.length, 5);
  });

  it('that is a directory, missing, or too long is told as such', async () => {
    const long = path.join(folder, 'long.yaml');
    writeFileSync(long, '#'.repeat(2 ** 20 + 1));
    for (const [name, told] of [
      [folder, /not a file/],
      [path.join(folder, 'none'), /ENOENT/],
      [long, /1 MiB/],
    ] as const) {
      await assert.rejects(loadLive(name), told);
    }
  });
});
