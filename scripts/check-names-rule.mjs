// Shows that the lint rule on names in directories bites: one text of each form that it must find, beside those that it must let
// pass; and that files have it which nobody lists.
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ESLint, Linter } from 'eslint';
import tseslint from 'typescript-eslint';
import { namesInDirectories } from './lint/names-in-directories.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const RULE = 'house/names-in-directories';

/** Texts that the rule finds something in. */
const BAD = [
  "import { renameSync } from 'node:fs';",
  "import { chmod as harmless } from 'node:fs/promises';",
  "import { 'rename' as harmless } from 'fs';",
  "import { writeFileSync } from 'node:fs';",
  "import { appendFile } from 'node:fs/promises';",
  "import { createWriteStream, truncateSync } from 'node:fs';",
  "import fs from 'node:fs'; fs.rmSync('a');",
  "import * as fs from 'fs'; fs.unlinkSync('a');",
  "import * as fs from 'fs'; fs.default.unlinkSync('a');",
  "import fs from 'node:fs'; fs.promises.rename('a', 'b');",
  "import fs from 'node:fs'; fs['promises']['rename']('a', 'b');",
  "import fs from 'node:fs'; fs?.promises?.rename('a', 'b');",
  "import { promises } from 'node:fs'; promises.link('a', 'b');",
  "import { promises as files } from 'fs'; files.symlink('a', 'b');",
  "import fs from 'node:fs'; const { rename } = fs;",
  "import fs from 'node:fs'; const { rename: harmless } = fs.promises;",
  "import fs from 'node:fs'; const { promises: { rename: harmless } } = fs;",
  "import fs from 'node:fs'; const { promises } = fs;",
  "import fs from 'node:fs'; const { readFileSync, ...rest } = fs;",
  "import fs from 'node:fs'; const { openSync } = fs;",
  "import fs from 'node:fs'; const files = fs;",
  "import fs from 'node:fs'; const files = fs as object;",
  "import fs from 'node:fs'; const files = { ...fs };",
  "import fs from 'node:fs'; export const change = (name: 'rename') => fs[name];",
  "import fs from 'node:fs'; Reflect.get(fs, 'rename');",
  "const fs = await import('node:fs');",
  "const { rename } = await import('fs/promises');",
  'const { rename } = await import(`node:fs`);',
  "void import('node:fs').then(({ rename }) => rename);",
  "const { rename } = require('node:fs');",
  "createRequire(import.meta.url)('fs').renameSync('a', 'b');",
  "process.getBuiltinModule('node:fs').renameSync('a', 'b');",
  "import fs = require('fs');",
  "export { rename } from 'node:fs/promises';",
  "export * from 'node:fs';",
  "import { openSync } from 'node:fs'; openSync('a', 'w');",
  "import { open as harmless } from 'node:fs/promises'; harmless('a', 'a+');",
  "import fs from 'node:fs'; fs.openSync('a', 'wx'); fs[`renameSync`]('a', 'b');",
  "import { openSync } from 'node:fs'; const harmless = openSync;",
  "import { constants, openSync } from 'node:fs'; openSync('a', constants.O_CREAT | constants.O_EXCL);",
  "import { constants } from 'node:fs'; const { O_TRUNC: harmless } = constants;",
  "import { nodeFiles } from '../platform/store/node-files.js';",
  "void import('../platform/store/node-files.js');",
];

/** Texts that it lets pass. */
const GOOD = [
  "import { constants, openSync, readFileSync } from 'node:fs'; openSync('a'); openSync('a', 'r', 0); openSync('a', constants.O_RDONLY);",
  "import { openSync as open } from 'node:fs'; export const look = (flags: number) => open('a', flags);",
  "import fs from 'node:fs'; fs.readFileSync('a'); fs.promises.stat('a'); fs.constants.O_NOFOLLOW;",
  "import fs from 'node:fs'; const { readFileSync, promises: { stat } } = fs;",
  "import fs from 'node:fs'; export const size = (status: fs.Stats, of: typeof fs) => status.size;",
  "import type { Stats } from 'node:fs';",
  "import { unlink } from './names.js'; unlink('a');",
  "import type { nodeFiles } from '../platform/store/node-files.js';",
  "import { rename } from '../platform/fs/pinned-directory.js'; const { link } = rename;",
];

/** Texts that are found but where it is allowed, and how. */
const ALLOWED = [
  ['writes', "import { writeFileSync } from 'node:fs';"],
  ['writes', "import { constants, openSync } from 'node:fs'; openSync('a', 'w'); openSync('a', constants.O_CREAT);"],
  ['nodeFiles', "import { nodeFiles } from '../platform/store/node-files.js';"],
];

function findings(text, allow = []) {
  const found = new Linter().verify(
    text,
    {
      files: ['**/*.ts'],
      languageOptions: { parser: tseslint.parser },
      plugins: { house: { rules: { 'names-in-directories': namesInDirectories } } },
      rules: { [RULE]: ['error', { allow }] },
    },
    'a.ts',
  );
  const broken = found.find(({ ruleId }) => ruleId !== RULE);
  if (broken !== undefined) throw new Error(`${text}: ${broken.message}`);
  return found;
}

/** Where it counts, whatever the name of a new file is. */
async function levelOf(file) {
  const { rules } = await new ESLint({ cwd: root }).calculateConfigForFile(path.join(root, file));
  return rules?.[RULE]?.[0];
}

const EVERYWHERE = [
  'src/new.ts',
  'src/session/new.ts',
  'src/platform/fs/new.ts',
  'src/library/new.ts',
  'src/verify/new.ts',
];
const levels = await Promise.all(EVERYWHERE.map(levelOf));
const problems = [
  ...BAD.filter((text) => findings(text).length === 0).map((text) => `not noticed: ${text}`),
  ...GOOD.filter((text) => findings(text).length > 0).map((text) => `noticed without reason: ${text}`),
  ...ALLOWED.filter(([, text]) => findings(text).length === 0).map(([, text]) => `not noticed: ${text}`),
  ...ALLOWED.filter(([allow, text]) => findings(text, [allow]).length > 0).map(([, text]) => `not allowed: ${text}`),
  ...EVERYWHERE.filter((_, at) => levels[at] !== 2).map((file) => `the rule does not count in ${file}`),
];
for (const problem of problems) console.error(problem);
console.log(`names in directories: ${BAD.length} planted lines, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;
