// Rules that no linter checks: pins, links between documents, paths of somebody's machine, promises left in the source.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { testTitles } from './test-titles.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const SELF = 'scripts/check-repository.mjs';
const LARGEST_BYTES = 1024 * 1024;
/** Messages of commits are held to CONTRIBUTING.md from here on; a checkout whose history does not reach it is left out. */
const MESSAGES_SINCE = 'f1c5f33e282c1b0b403c0aeaeca03967581167dd';

/** Every file that is or could be committed. */
function files() {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
  return [...new Set(listed.toString().split('\0'))].filter((file) => file !== '' && existsSync(path.join(root, file)));
}

const read = (file) => readFileSync(path.join(root, file), 'utf8');
const isText = (file) => !read(file).includes('\0');

/** Patterns that a line must not match, where they count, and the remedy. */
const LINES = [
  {
    where: (file) => file !== SELF,
    pattern: /(^|[^A-Za-z0-9_.])\/(work|farm|root|home\/[a-z])\//,
    say: 'a path of one machine: use a relative path, a temporary folder or a path of the product',
  },
  {
    where: (file) => file !== SELF,
    pattern: /registry\.(npmjs|yarnpkg)|(deb|security|snapshot)\.debian\.org|proxy\.golang\.org|pypi\.org|crates\.io/i,
    say: 'the host of a package registry: clients are configured outside the repository',
  },
  {
    where: (file) => file !== SELF,
    pattern:
      /\bcontract \d|\bstack notes\b|\binterop rule\b|\b(contract|stack|interop|consumption|interfaces|house-style|user-demand|kubelet-behaviour|real-kubelet-facts)\.md\b|kubelet-behaviour \d/i,
    say: 'a page that is not in the repository: say the fact in place, or cite docs/specification.md#section',
  },
  {
    where: (file) => file.startsWith('src/') || file.startsWith('proto/'),
    pattern: /\b(TODO|FIXME|XXX)\b|not implemented|placeholder/i,
    say: 'a promise for later: finish it or leave it out',
  },
  {
    where: (file) => /\.(ts|js|mjs|cjs)$/.test(file) && file !== SELF,
    pattern: /eslint-disable(?!.*\s--\s+\S)/,
    say: 'a disabled lint rule without its reason after --',
  },
  {
    where: (file) => /\.(ts|mjs|cjs|js)$/.test(file) && file !== SELF,
    pattern: /@ts-(ignore|nocheck)/,
    say: 'the type checker switched off: use @ts-expect-error with a reason where it must be',
  },
];

function badLines(file) {
  const rules = LINES.filter(({ where }) => where(file));
  if (rules.length === 0 || file === 'package-lock.json' || !isText(file)) return [];
  return read(file)
    .split('\n')
    .flatMap((line, index) =>
      rules.filter(({ pattern }) => pattern.test(line)).map(({ say }) => `${file}:${index + 1}: ${say}`),
    );
}

/** Names that say nothing about what is inside. */
function badName(file) {
  const parts = file.replace(/\.[^/]*$/, '').split('/');
  const vague = parts.find((part) => /^(utils?|helpers?|common|misc|types|manager|index)$/.test(part));
  return file.startsWith('src/') && vague !== undefined
    ? [`${file}: "${vague}" names nothing: name it after what it does`]
    : [];
}

function badSize(file) {
  const { size } = statSync(path.join(root, file));
  return size > LARGEST_BYTES ? [`${file}: ${size} bytes: generate or fetch what is that large`] : [];
}

function badPins() {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(read('package.json'));
  const pins = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const loose = pins
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => `package.json: ${name} is ${version}: pin one exact version`);
  const { packages } = JSON.parse(read('package-lock.json'));
  const hosted = Object.entries(packages)
    .filter(([, entry]) => entry.resolved !== undefined && entry.link !== true)
    .map(
      ([name]) =>
        `package-lock.json: ${name} carries a download address: npm config set omit-lockfile-registry-resolved true`,
    );
  return [...loose, ...hosted];
}

/** Heading anchors of a Markdown text, as code hosts make them. */
function anchors(text) {
  return new Set(
    text
      .replace(/```[\s\S]*?```/g, '')
      .split('\n')
      .filter((line) => /^#{1,6}\s/.test(line))
      .map((line) =>
        line
          .replace(/^#+\s+/, '')
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, '')
          .trim()
          .replace(/\s/g, '-'),
      ),
  );
}

function badLinks(file) {
  if (!file.endsWith('.md')) return [];
  const text = read(file)
    .replace(/```[\s\S]*?```/g, '')
    .replace(/`[^`\n]*`/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)(?:\s+"[^"]*")?\)/g)].flatMap(([, target]) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [name, anchor] = target.split('#');
    const to = name === '' ? file : path.join(path.dirname(file), decodeURIComponent(name));
    if (!existsSync(path.join(root, to))) return [`${file}: the link ${target} leads nowhere`];
    if (anchor === undefined || !to.endsWith('.md') || anchors(read(to)).has(anchor)) return [];
    return [`${file}: the link ${target} names no heading of ${to}`];
  });
}

/** Sections of documents that comments cite by path and anchor. */
function badCitations(file) {
  if (!/^(src|test|scripts|proto)\//.test(file) || file === SELF || !isText(file)) return [];
  return [...read(file).matchAll(/\b(docs\/[\w-]+\.md)(?:#([\w-]+))?/g)].flatMap(([cited, to, anchor]) => {
    if (!existsSync(path.join(root, to))) return [`${file}: ${cited} does not exist`];
    return anchor === undefined || anchors(read(to)).has(anchor) ? [] : [`${file}: ${cited} names no heading`];
  });
}

/** Texts with the title `holds`, and whether it is the title of a test there: tests of testTitles. */
const PLANTED_TITLES = [
  ["// it('holds', () => {})", false],
  ["/** describe('holds') */", false],
  ["const title = 'holds';", false],
  [`const text = "it('holds', () => {})";`, false],
  ["it.skip('holds', () => {});", false],
  ["it('another', () => assert.ok(true, 'holds'));", false],
  ["describe('a thing', () => void it('holds', async () => {}));", true],
  ['for (const one of all) test(`with ${one}: holds`, () => {});', true],
];

/** Whether a test, or a suite, has a text as its title or as a part of it. */
const hasTest = (text, title) => testTitles(text).some((one) => one.includes(title));

function badTitles() {
  return PLANTED_TITLES.filter(([text, isTitle]) => hasTest(text, 'holds') !== isTitle).map(
    ([text, isTitle]) => `${SELF}: takes the title in ${text} for ${isTitle ? 'none' : 'one'} of a test`,
  );
}

/** Each invariant of ARCHITECTURE.md names a test that exists: `file below test/`: "title". */
function badInvariants() {
  const file = 'ARCHITECTURE.md';
  const section =
    read(file)
      .split(/^## /m)
      .find((part) => part.startsWith('Invariants')) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| **'));
  const problems = rows.flatMap((row) => {
    const name = /\*\*(.+?)\*\*/.exec(row)[1];
    const [, test, title] = /`([\w/-]+)`: "(.+?)"\s*\|$/.exec(row) ?? [];
    if (test === undefined) return [`${file}: the invariant "${name}" names no test as \`folder/file\`: "title"`];
    const at = `test/${test}.test.ts`;
    if (!existsSync(path.join(root, at))) return [`${file}: the invariant "${name}": ${at} does not exist`];
    return hasTest(read(at), title) ? [] : [`${file}: the invariant "${name}": ${at} has no test "${title}"`];
  });
  return rows.length === 0 ? [`${file}: no table of invariants`] : problems;
}

/** Where ARCHITECTURE.md and comments lead on, as `Name.member` (folder/file), or (`Name.member`, `folder/file`): that file has it. */
function badPlaces(file) {
  if (file !== 'ARCHITECTURE.md' && !/^src\/.*\.ts$/.test(file)) return [];
  const found = read(file).matchAll(
    /(?:`(\w+)|\b([A-Z]\w+))(?:\.(\w+))?`?(?:[\s*]+\(|,[\s*]+(?=`)|[\s*]+in[\s*]+(?=`))`?([a-z][\w-]*(?:\/[\w-]+)+)`?[),]/g,
  );
  return [...found].flatMap(([, quoted, plain, member, place]) => {
    const name = quoted ?? plain;
    if (!existsSync(path.join(root, 'src', place.split('/')[0]))) return [];
    const at = `src/${place}.ts`;
    if (!existsSync(path.join(root, at))) return [`${file}: ${at}, which is to have ${name}, does not exist`];
    const has = (what) => new RegExp(what).test(read(at));
    if (!has(`\\b(class|function\\*?|const|interface|type) ${name}\\b`)) return [`${file}: ${at} has no ${name}`];
    return member === undefined || has(`(?<![#.\\w])${member}\\b *[=(<:{]`)
      ? []
      : [`${file}: ${at} has no ${name}.${member}`];
  });
}

/** Tests that documents cite below test/: `folder/file` or `folder`, alone or with titles, as: `folder/file`, "title". */
function badTests(file) {
  if (!/^docs\/[\w-]+\.md$/.test(file)) return [];
  const cited = read(file).matchAll(
    /`((?:unit|contract|integration|interop|scenarios|crash|fuzz|image|package)\/[\w/-]+)`(?:,? \(?((?:"[^"]+"(?:, )?)+))?/g,
  );
  return [...cited].flatMap(([, place, titles = '']) => {
    const tests = all.filter((one) => one === `test/${place}.test.ts` || one.startsWith(`test/${place}/`));
    if (tests.length === 0) return [`${file}: test/${place} does not exist`];
    return [...titles.matchAll(/"([^"]+)"/g)]
      .filter(([, title]) => !tests.some((one) => hasTest(read(one), title)))
      .map(([, title]) => `${file}: test/${place} has no test "${title}"`);
  });
}

/** Tests that SECURITY.md cites behind `Test:` or `Tests:`, below test/ or one of its two largest folders. */
function badSecurityTests() {
  const file = 'SECURITY.md';
  const cited = [...read(file).matchAll(/\bTests?:\s((?:`[\w/-]+`[,\s]*)+)/g)].flatMap(([, names]) =>
    names.match(/[\w/-]+/g),
  );
  const problems = cited
    .filter((name) => !['', 'unit/', 'integration/'].some((below) => all.includes(`test/${below}${name}.test.ts`)))
    .map((name) => `${file}: there is no test ${name}`);
  return cited.length === 0 ? [`${file}: cites no test`] : problems;
}

/** The index of the documentation names every page of it. */
function badIndex() {
  const index = read('docs/README.md');
  return all
    .filter((file) => /^docs\/[\w-]+\.md$/.test(file) && file !== 'docs/README.md')
    .filter((file) => !index.includes(`](${path.basename(file)})`))
    .map((file) => `docs/README.md: leaves out ${file}`);
}

/** Each commit since MESSAGES_SINCE has a body (merges need none); the subject of none, merges included, has a path of one machine. */
function badMessages() {
  const git = (...args) => execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] }).toString();
  let log;
  try {
    log = git('log', '-z', '--format=%h%x09%p%x09%s%x09%b', `${MESSAGES_SINCE}..HEAD`);
  } catch {
    return [];
  }
  return log
    .split('\0')
    .filter((one) => one !== '')
    .flatMap((one) => {
      const [id, parents, subject, body] = one.split('\t');
      return [
        ...(body.trim() === '' && !parents.includes(' ')
          ? [`commit ${id}: has no body: say why (CONTRIBUTING.md)`]
          : []),
        ...(/\s\/(tmp|work|farm|root|home)\//.test(subject)
          ? [`commit ${id}: its subject has a path of one machine`]
          : []),
      ];
    });
}

function badModes() {
  const runnable = ['.ci/run'];
  return runnable
    .filter((file) => !existsSync(path.join(root, file)) || (statSync(path.join(root, file)).mode & 0o111) === 0)
    .map((file) => `${file}: missing or not executable`);
}

const all = files();
const problems = [
  ...all.flatMap((file) => [
    ...badLines(file),
    ...badName(file),
    ...badSize(file),
    ...badLinks(file),
    ...badCitations(file),
    ...badPlaces(file),
    ...badTests(file),
  ]),
  ...badPins(),
  ...badModes(),
  ...badIndex(),
  ...badTitles(),
  ...badInvariants(),
  ...badSecurityTests(),
  ...badMessages(),
];
for (const problem of problems) console.error(problem);
console.log(`repository: ${all.length} files, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
