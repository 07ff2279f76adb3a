import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'node:test';
import { runHere } from '../../support/captured-terminal.js';
import { tempDir } from '../../support/temp-dir.js';

const folder = tempDir();
const missing = (shell: string): string | false =>
  existsSync(`/usr/bin/${shell}`) || existsSync(`/bin/${shell}`) ? false : `NOT TESTED: there is no ${shell}`;

function shell(program: string, script: string): string {
  const { status, stdout, stderr } = spawnSync(program, ['-c', script], {
    encoding: 'utf8',
    cwd: folder,
    timeout: 60_000,
  });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout;
}

describe('completion bash', { skip: missing('bash') }, () => {
  const script = path.join(folder, 'completion.bash');
  before(async () => writeFileSync(script, (await runHere(['completion', 'bash'])).stdout));

  /** The words that bash offers for the last of some words. */
  function offered(...words: readonly string[]): readonly string[] {
    const typed = words.map((word) => `'${word}'`).join(' ');
    const ask = `plugin-broker() { echo live-$2; }; source '${script}'; COMP_WORDS=(plugin-broker ${typed}); COMP_CWORD=${words.length}; _plugin_broker`;
    return shell('bash', `${ask}; printf '%s\\n' "\${COMPREPLY[@]}"`).trim().split('\n');
  }

  const rows: readonly { words: readonly string[]; has: readonly string[]; hasNot?: readonly string[] }[] = [
    { words: [''], has: ['serve', 'status', 'doctor', 'completion', '--version'], hasNot: ['--watch'] },
    { words: ['p'], has: ['plugins', 'pardon'], hasNot: ['status'] },
    { words: ['plugins', '--'], has: ['--watch', '--output', '--root'], hasNot: ['--follow'] },
    { words: ['plugins', '-o', ''], has: ['table', 'json'], hasNot: ['--watch'] },
    { words: ['events', '--output', 'j'], has: ['json'], hasNot: ['table'] },
    { words: ['completion', ''], has: ['bash', 'zsh', 'fish'] },
    { words: ['run', '--device', ''], has: ['live-resource'], hasNot: ['live-lease', '--id'] },
    { words: ['allocate', '--key', 'k', '--device', 'live'], has: ['live-resource'] },
    { words: ['release', ''], has: ['live-lease', '--key'], hasNot: ['live-resource'] },
    { words: ['status', '--root', ''], has: [''], hasNot: ['--watch'] },
  ];
  for (const { words, has, hasNot = [] } of rows) {
    it(`offers ${has[0] === '' ? 'file names' : has.join(', ')} after "${words.join(' ')}"`, () => {
      const candidates = offered(...words);
      for (const word of has) assert.ok(candidates.includes(word), `${word} in ${candidates.join(' ')}`);
      for (const word of hasNot) assert.ok(!candidates.includes(word), `${word} in ${candidates.join(' ')}`);
    });
  }

  it('offers what is called like a command for the shell, and does not run it', () => {
    const left = path.join(folder, 'ran');
    const names = [`a$(touch\${IFS}${left})`, `\`touch\${IFS}${left}\``, '/*'];
    const ask = `plugin-broker() { printf '%s\\n' ${names.map((name) => `'${name}'`).join(' ')}; }`;
    const words = `COMP_WORDS=(plugin-broker plugins ''); COMP_CWORD=2`;
    const found = shell(
      'bash',
      `${ask}; source '${script}'; ${words}; _plugin_broker; printf '%s\\n' "\${COMPREPLY[@]}"`,
    );
    for (const name of names) assert.ok(found.split('\n').includes(name), found);
    assert.ok(!existsSync(left));
  });

  const asking: Readonly<Record<string, { words: string; asks: string }>> = {
    'behind the command': { words: 'plugins --root /a', asks: 'plugin --root /a' },
    'before the command': { words: '--root /a/plugins release', asks: 'lease --root /a/plugins' },
    'with =, which bash splits': { words: 'plugins --root = /a', asks: 'plugin --root /a' },
    'in quotes, and with a space': { words: `plugins --root "'/a b'"`, asks: 'plugin --root /a b' },
    'with a space behind a backslash': { words: `plugins --root '/a\\ b'`, asks: 'plugin --root /a b' },
    'below the home directory': { words: "plugins --root '~/a'", asks: 'plugin --root /own/a' },
    'by its socket': { words: 'resources --address /a.sock', asks: 'resource --address /a.sock' },
    'of the command, not of what it runs': { words: 'run -- x --root /a --device', asks: 'resource' },
  };
  for (const [how, { words, asks }] of Object.entries(asking)) {
    it(`asks the daemon that is named ${how}`, () => {
      const ask = `plugin-broker() { shift; echo "$*" > asked; }; HOME=/own; source '${script}'; COMP_WORDS=(plugin-broker ${words} '')`;
      shell('bash', `${ask}; COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _plugin_broker`);
      assert.equal(readFileSync(path.join(folder, 'asked'), 'utf8').trim(), asks);
    });
  }

  it('is loaded by sourcing it', () => {
    assert.match(shell('bash', `source '${script}'; complete -p plugin-broker`), /-F _plugin_broker plugin-broker/);
  });
});

describe('completion zsh', { skip: missing('zsh') }, () => {
  it('is a script that zsh can read', async () => {
    const file = path.join(folder, '_plugin-broker');
    writeFileSync(file, (await runHere(['completion', 'zsh'])).stdout);
    shell('zsh', `zsh -n '${file}'`);
  });

  it('completes what is typed: commands, their subcommands, options, and values of both', () => {
    const ran = path.join(folder, 'zsh-ran');
    const typed = [
      'plug\t--wat\t',
      'sim dev\t--reso\t',
      'completion fi\t',
      'plugins -o ya\t',
      'run --device li\t',
      'release li\t',
      'plugins --root /a\\\\ b li\t',
      '--root=/a/plugins release li\t',
    ];
    const script = [
      'zmodload zsh/zpty && zpty z zsh -f -i',
      `zpty -w z "fpath=('${folder}' \\$fpath); autoload -U compinit; compinit -u -d '${folder}/zsh-dump'"`,
      // Only a line editor that runs gets a tab: text that is typed before it is in place is read as it stands.
      `zpty -w z 'plugin-broker() { if [[ $1 = __names ]]; then print -r -- live-\${(j:_:)@[2,-1]}; else print -r -- "$@" >> "${ran}"; fi }'`,
      `zpty -w z 'zle-line-init() { print RE""ADY }; zle -N zle-line-init'`,
      ...typed.flatMap((words) => ["zpty -r z out '*READY*'", `zpty -w z $'plugin-broker ${words}'`]),
      "zpty -r z out '*READY*' && zpty -w z 'exit'",
      'while zpty -r z out; do :; done',
    ];
    shell('zsh', script.join('\n'));
    assert.deepEqual(readFileSync(ran, 'utf8').trim().split('\n'), [
      'plugins --watch',
      'sim device --resource',
      'completion fish',
      'plugins -o yaml',
      'run --device live-resource',
      'release live-lease',
      'plugins --root /a b live-plugin_--root_/a b',
      '--root=/a/plugins release live-lease_--root=/a/plugins',
    ]);
  });
});

describe('completion fish', { skip: missing('fish') }, () => {
  it('is a script that fish can read', async () => {
    const file = path.join(folder, 'plugin-broker.fish');
    writeFileSync(file, (await runHere(['completion', 'fish'])).stdout);
    shell('fish', `fish -n '${file}'`);
  });

  it('completes what is typed: commands, their subcommands, options, and values of both', () => {
    const file = path.join(folder, 'plugin-broker.fish');
    const offered = (typed: string): readonly string[] =>
      shell(
        'fish',
        `function plugin-broker; echo live-(string join -- _ $argv[2..]); end; set HOME /own; source '${file}'; complete -C 'plugin-broker ${typed}'`,
      )
        .split('\n')
        .flatMap((line) => line.split('\t')[0] ?? []);
    const rows = {
      plug: 'plugins',
      'sim dev': 'device',
      'plugins --wat': '--watch',
      'plugins -o ya': 'yaml',
      'completion z': 'zsh',
      'run --device ': 'live-resource',
      'release ': 'live-lease',
      'plugins --root /a ': 'live-plugin_--root_/a',
      '--root "/a b" release ': 'live-lease_--root_/a b',
      'plugins --root ~/a ': 'live-plugin_--root_/own/a',
      'resources --address=/a.sock ': 'live-resource_--address=/a.sock',
    };
    for (const [typed, word] of Object.entries(rows))
      assert.ok(offered(typed).includes(word), `${word} after ${typed}`);
  });
});

describe('completion', () => {
  it('names every command and option of the help in each shell', async () => {
    const scripts = await Promise.all(['bash', 'zsh', 'fish'].map((name) => runHere(['completion', name])));
    for (const { stdout } of scripts) {
      for (const word of ['check-config', 'deregister', 'takeover', 'interval', 'follow']) {
        assert.ok(stdout.includes(word), word);
      }
    }
  });
});
