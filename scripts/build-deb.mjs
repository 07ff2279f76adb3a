// Makes the Debian package of the last build: node scripts/build-deb.mjs FOLDER. Needs dpkg-deb and nothing else, and no
// network. The unit, the group, the manual page and the completions come from the same sources as everything else.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { manualPage } from './manual-page.mjs';
import { stage } from './stage.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const { version, description } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('usage: node scripts/build-deb.mjs FOLDER');
  process.exit(2);
}
const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch];
const program = path.join(root, 'dist', 'plugin-broker.cjs');
const tree = mkdtempSync(path.join(tmpdir(), 'pb-deb-'));
const at = (...parts) => {
  const file = path.join(tree, ...parts);
  mkdirSync(path.dirname(file), { recursive: true });
  return file;
};
const copy = (from, ...to) => cpSync(path.join(root, from), at(...to), { recursive: true, dereference: true });
const say = (...args) => {
  const { stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  return stdout === '' ? stderr : stdout; // the registrar prints its help as the original does
};

try {
  stage(at('usr', 'lib', 'plugin-broker'));
  for (const name of ['plugin-broker', 'csi-node-driver-registrar'])
    symlinkSync(`../lib/plugin-broker/dist/${name}.cjs`, at('usr', 'bin', name));

  copy('deploy/systemd/plugin-broker.service', 'usr', 'lib', 'systemd', 'system', 'plugin-broker.service');
  copy('deploy/systemd/plugin-broker.tmpfiles.conf', 'usr', 'lib', 'tmpfiles.d', 'plugin-broker.conf');
  copy('deploy/systemd/plugin-broker.sysusers.conf', 'usr', 'lib', 'sysusers.d', 'plugin-broker.conf');
  copy('deploy/debian/plugin-broker.yaml', 'etc', 'plugin-broker', 'plugin-broker.yaml');
  copy('config/plugin-broker.yaml', 'usr', 'share', 'doc', 'plugin-broker', 'examples', 'plugin-broker.yaml');
  copy('LICENSE', 'usr', 'share', 'doc', 'plugin-broker', 'copyright');

  const completions = {
    bash: ['bash-completion', 'completions', 'plugin-broker'],
    zsh: ['zsh', 'vendor-completions', '_plugin-broker'],
    fish: ['fish', 'vendor_completions.d', 'plugin-broker.fish'],
  };
  for (const [shell, place] of Object.entries(completions))
    writeFileSync(at('usr', 'share', ...place), say('completion', shell));
  writeFileSync(
    at('usr', 'share', 'man', 'man1', 'plugin-broker.1.gz'),
    gzipSync(manualPage(say, version), { level: 9 }),
  );

  const control = [
    'Package: plugin-broker',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    'Maintainer: The authors of plugin-broker <plugin-broker@localhost>',
    'Section: admin',
    'Priority: optional',
    'Depends: nodejs (>= 20.19), init-system-helpers, passwd',
    'Recommends: systemd',
    `Description: ${description}`,
    '',
  ];
  writeFileSync(at('DEBIAN', 'control'), control.join('\n'));
  writeFileSync(at('DEBIAN', 'conffiles'), '/etc/plugin-broker/plugin-broker.yaml\n');
  for (const name of ['postinst', 'prerm', 'postrm']) {
    copy(`deploy/debian/${name}`, 'DEBIAN', name);
    chmodSync(at('DEBIAN', name), 0o755);
  }
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(file, 0o755);
  }
  chmodSync(tree, 0o755);
  mkdirSync(folder, { recursive: true });
  const made = path.join(path.resolve(folder), `plugin-broker_${version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', tree, made], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  console.log(made);
} finally {
  rmSync(tree, { recursive: true, force: true });
}
