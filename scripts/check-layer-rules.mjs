// Shows that the layer rules bite: plants one violation of each in a tree of its own, and expects exactly those findings.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const CONFIG = '.dependency-cruiser.cjs';

/** The sound files of the planted tree: every import that a rule must let pass stands here. */
const SOUND = {
  'src/kernel/clock.ts': "import type { Tick } from './tick.js';\nexport const now = (): Tick => 0;\n",
  'src/kernel/tick.ts': 'export type Tick = number;\n',
  'src/kernel/visible.ts':
    "import type { Tick } from './tick.js';\nexport const visible = (at: Tick): string => String(at);\n",
  'src/model/plugin.ts': "import { now } from '../kernel/clock.js';\nexport const plugin = now();\n",
  'src/admission/port.ts': 'export interface Port {\n  readonly open: boolean;\n}\n',
  'src/admission/admission.ts':
    "import path from 'node:path';\nimport { plugin } from '../model/plugin.js';\nimport type { Port } from './port.js';\n" +
    "export const admit = (port: Port): string => path.join('a', String(port.open && plugin));\n",
  'src/session/session.ts': "import { now } from '../kernel/clock.js';\nexport const session = now();\n",
  'src/platform/grpc/server.ts':
    "import { Server } from '@grpc/grpc-js';\nimport { readFileSync } from 'node:fs';\nimport type { Port } from '../../admission/port.js';\n" +
    'export const open = (port: Port): unknown => [port, Server, readFileSync];\n',
  'src/cli/output/table.ts': "import { plugin } from '../../model/plugin.js';\nexport const table = plugin;\n",
  'src/sim/device.ts':
    "import { table } from '../cli/output/table.js';\nimport { open } from '../platform/grpc/server.js';\nexport const sim = [open, table];\n",
  'src/verify/judge.ts': "import { plugin } from '../model/plugin.js';\nexport const judge = plugin;\n",
  'src/library/start.ts': "import { judge } from '../verify/judge.js';\nexport const start = judge;\n",
  'src/cli/commands.ts': "import { sim } from '../sim/device.js';\nexport const commands = [sim];\n",
  'src/session/cycle.ts': "import type { Bad } from './bad-cycle.js';\nexport type Back = Bad;\n",
  'src/daemon/daemon.ts':
    "import { admit } from '../admission/admission.js';\nimport { session } from '../session/session.js';\n" +
    "import { open } from '../platform/grpc/server.js';\nexport const daemon = [admit, session, open];\n",
  'src/faults/fault-port.ts':
    "import type { daemon } from '../daemon/daemon.js';\nexport const faults = (port: typeof daemon): unknown => port;\n",
  'src/browser/page.ts':
    "import { visible } from '../kernel/visible.js';\nimport type { plugin } from '../model/plugin.js';\n" +
    'export type Shown = typeof plugin;\nexport const shown = visible(0);\n',
  'src/serve-under-test.ts':
    "import { daemon } from './daemon/daemon.js';\nimport { faults } from './faults/fault-port.js';\nexport const serve = faults(daemon);\n",
  'test/unit/admission.test.ts':
    "import { admit } from '../../src/admission/admission.js';\nexport const test = admit;\n",
};

/** One row per rule: a file that breaks it and nothing else. */
const VIOLATIONS = [
  {
    rule: 'the-browser-sees-only-views',
    file: 'src/browser/bad.ts',
    text: "import { plugin } from '../model/plugin.js';\nexport const bad = plugin;\n",
  },
  {
    rule: 'the-browser-sees-only-views',
    file: 'src/browser/bad-clock.ts',
    text: "import { now } from '../kernel/clock.js';\nexport const bad = now();\n",
  },
  {
    rule: 'nobody-imports-the-browser',
    file: 'src/platform/bad-page.ts',
    text: "import type { Shown } from '../browser/page.js';\nexport type Bad = Shown;\n",
  },
  {
    rule: 'kernel-knows-nothing',
    file: 'src/kernel/bad.ts',
    text: "import { tmpdir } from 'node:os';\nexport const bad = tmpdir();\n",
  },
  {
    rule: 'kernel-knows-nothing',
    file: 'src/kernel/bad-upwards.ts',
    text: "import type { Port } from '../admission/port.js';\nexport type Bad = Port;\n",
  },
  {
    rule: 'model-knows-only-the-kernel',
    file: 'src/model/bad.ts',
    text: "import type { Port } from '../admission/port.js';\nexport type Bad = Port;\n",
  },
  {
    rule: 'stages-do-not-know-each-other',
    file: 'src/session/bad-neighbour.ts',
    text: "import type { Port } from '../admission/port.js';\nexport type Bad = Port;\n",
  },
  {
    rule: 'stages-do-not-know-each-other',
    file: 'src/front/bad-neighbour.ts',
    text: "import { session } from '../session/session.js';\nexport const bad = session;\n",
  },
  {
    rule: 'stages-know-only-model-and-kernel',
    file: 'src/front/bad-daemon.ts',
    text: "import { daemon } from '../daemon/daemon.js';\nexport const bad = daemon;\n",
  },
  {
    rule: 'stages-know-only-model-and-kernel',
    file: 'src/session/bad-platform.ts',
    text: "import { open } from '../platform/grpc/server.js';\nexport const bad = open;\n",
  },
  {
    rule: 'packages-and-io-only-in-platform-and-programs',
    file: 'src/session/bad-package.ts',
    text: "import { Server } from '@grpc/grpc-js';\nexport const bad = Server;\n",
  },
  {
    rule: 'packages-and-io-only-in-platform-and-programs',
    file: 'src/session/bad-io.ts',
    text: "import { connect } from 'node:net';\nexport const bad = connect;\n",
  },
  {
    rule: 'platform-sees-only-types-of-stages',
    file: 'src/platform/bad.ts',
    text: "import { admit } from '../admission/admission.js';\nexport const bad = admit;\n",
  },
  {
    rule: 'platform-does-not-know-who-uses-it',
    file: 'src/platform/bad-upwards.ts',
    text: "import { sim } from '../sim/device.js';\nexport const bad = sim;\n",
  },
  {
    rule: 'daemon-only-wires',
    file: 'src/daemon/bad-program.ts',
    text: "import { sim } from '../sim/device.js';\nexport const bad = sim;\n",
  },
  {
    rule: 'faults-come-from-outside',
    file: 'src/bad-serve.ts',
    text: "import { faults } from './faults/fault-port.js';\nexport const bad = faults;\n",
  },
  {
    rule: 'faults-know-only-types',
    file: 'src/faults/bad.ts',
    text: "import { session } from '../session/session.js';\nexport const bad = session;\n",
  },
  {
    rule: 'daemon-does-no-io',
    file: 'src/daemon/bad-io.ts',
    text: "import { connect } from 'node:net';\nexport const bad = connect;\n",
  },
  {
    rule: 'programs-do-not-know-stages',
    file: 'src/sim/bad.ts',
    text: "import { admit } from '../admission/admission.js';\nexport const bad = admit;\n",
  },
  {
    rule: 'programs-do-not-know-stages',
    file: 'src/verify/bad-daemon.ts',
    text: "import { daemon } from '../daemon/daemon.js';\nexport const bad = daemon;\n",
  },
  {
    rule: 'device-plugins-do-not-know-the-broker',
    file: 'src/device-plugin/bad.ts',
    text: "import { daemon } from '../daemon/daemon.js';\nexport const bad = daemon;\n",
  },
  {
    rule: 'only-command-line-and-library-know-verify',
    file: 'src/sim/bad-verify.ts',
    text: "import { judge } from '../verify/judge.js';\nexport const bad = judge;\n",
  },
  {
    rule: 'programs-do-not-know-each-other',
    file: 'src/sim/bad-neighbour.ts',
    text: "import { commands } from '../cli/commands.js';\nexport const bad = commands;\n",
  },
  {
    rule: 'shipped-code-uses-shipped-packages',
    file: 'src/sim/bad-dev.ts',
    text: "import fc from 'fast-check';\nexport const bad = fc;\n",
  },
  {
    rule: 'source-never-imports-tests',
    file: 'src/sim/bad-test.ts',
    text: "import { test } from '../../test/unit/admission.test.js';\nexport const bad = test;\n",
  },
  {
    rule: 'unit-tests-do-no-io',
    file: 'test/unit/bad.test.ts',
    text: "import { connect } from 'node:net';\nexport const bad = connect;\n",
  },
  {
    rule: 'no-cycles',
    file: 'src/session/bad-cycle.ts',
    text: "import type { Back } from './cycle.js';\nexport type Bad = Back;\n",
  },
  { rule: 'no-orphans', file: 'src/session/bad-orphan.ts', text: 'export const bad = 1;\n' },
  {
    rule: 'no-unresolvable',
    file: 'src/session/bad-missing.ts',
    text: "import { gone } from './gone.js';\nexport const bad = gone;\n",
  },
];

/** The names of all rules in the configuration, so that a new rule without a row here is noticed. */
function ruleNames() {
  return createRequire(import.meta.url)(path.join(root, CONFIG)).forbidden.map(({ name }) => name);
}

function plantedTree() {
  const tree = mkdtempSync(path.join(tmpdir(), 'layers-'));
  for (const name of [CONFIG, 'package.json', 'tsconfig.json']) {
    copyFileSync(path.join(root, name), path.join(tree, name));
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(tree, 'node_modules'));
  const files = { ...SOUND, ...Object.fromEntries(VIOLATIONS.map(({ file, text }) => [file, text])) };
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(tree, file)), { recursive: true });
    writeFileSync(path.join(tree, file), text);
  }
  return tree;
}

function findings(tree) {
  const cruiser = path.join(root, 'node_modules', 'dependency-cruiser', 'bin', 'dependency-cruise.mjs');
  const run = spawnSync(process.execPath, [cruiser, '--config', CONFIG, '--output-type', 'json', 'src', 'test'], {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (run.stdout === '') throw new Error(`dependency-cruiser gave no answer: ${run.stderr}`);
  return JSON.parse(run.stdout).summary.violations.map(({ rule, from }) => `${rule.name} ${from}`);
}

const tree = plantedTree();
try {
  const found = new Set(findings(tree));
  const planted = new Set(VIOLATIONS.map(({ rule, file }) => `${rule} ${file}`));
  const problems = [
    ...[...planted].filter((finding) => !found.has(finding)).map((finding) => `not noticed: ${finding}`),
    ...[...found].filter((finding) => !planted.has(finding)).map((finding) => `noticed without reason: ${finding}`),
    ...ruleNames()
      .filter((name) => !VIOLATIONS.some(({ rule }) => rule === name))
      .map((name) => `no planted violation for the rule ${name}`),
  ];
  for (const problem of problems) console.error(problem);
  console.log(`layer rules: ${planted.size} planted violations, ${problems.length} problems`);
  process.exitCode = problems.length === 0 ? 0 : 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}
