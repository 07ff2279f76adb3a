// Builds two things: dist/, the bundles that people run, and build/, the same sources file by file for the tests.
import { readdirSync, rmSync, chmodSync, existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildCodeCache } from './build-code-cache.mjs';
import { buildConfigSchema } from './build-config-schema.mjs';
import { buildPage } from './build-page.mjs';
import { buildWireTables } from './build-wire-tables.mjs';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const under = (...parts) => path.join(root, ...parts);
/** PB_OUT puts dist/ and build/ somewhere else, so that a build does not disturb another one in the same checkout. */
const out = (...parts) => path.join(process.env.PB_OUT ?? root, ...parts);

/** Every .ts file below a folder, as absolute paths. */
function sources(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

const common = { platform: 'node', target: 'node20.19', logLevel: 'warning', absWorkingDir: root };

// koffi is native: it is found in node_modules when it is needed, or is not there.
const external = ['koffi', './serve.cjs', './serve-under-test.cjs', './cli.cjs'];

const entries = ['serve', 'serve-under-test', 'cli', 'plugin-broker', 'csi-node-driver-registrar'].filter((name) =>
  existsSync(under('src', `${name}.ts`)),
);

/** The modules that programs import: ES modules, which share the packages of the program. */
const libraries = ['broker', 'device-plugin', 'verify'];

/** grpc-js wants proto-loader for channelz and load reports, which the daemon has switched off: a third of its start-up. */
const withoutProtoLoader = { '@grpc/proto-loader': under('src', 'platform', 'grpc', 'absent-proto-loader.ts') };

/** Imported on demand, by its path there, and the exports of the bundle of its own. */
const onDemand = new Map([
  ['yaml', { name: 'yaml', gives: "export { LineCounter, parse, parseDocument, stringify } from 'yaml'" }],
  ['pino-pretty', { name: 'pino-pretty', gives: "export { prettyFactory } from 'pino-pretty'" }],
  ['prom-client', { name: 'prom-client', gives: "export { Registry, collectDefaultMetrics } from 'prom-client'" }],
  // As it is written where it is imported, in platform/http/.
  ['../../generated/page.js', { name: 'page', gives: "export { page } from './src/generated/page.ts'" }],
  ['@kubernetes/client-node', { name: 'kubernetes', gives: "export { KubeConfig } from '@kubernetes/client-node'" }],
  [
    '../../generated/proto/descriptors.js',
    { name: 'descriptors', gives: "export { fileDescriptors } from './src/generated/proto/descriptors.ts'" },
  ],
  [
    './explain.js',
    { name: 'explain', gives: "export { explainForm, restOf } from './src/platform/config/explain.ts'" },
  ],
]);

/** PB_WITHOUT leaves one of the mechanisms out that make a start short: scripts/start-parts.mjs measures what each gains. */
const without = process.env.PB_WITHOUT;

/** The daemon as it would be without a mechanism: the package that it stands for is in the bundle and does its work. */
const instead = {
  'own schema check':
    "import { parseForm } from './src/platform/config/file-schema.ts'; parseForm({}); export * from './src/serve.ts';",
  'own metrics':
    "import { Counter, Gauge, Histogram, Registry } from 'prom-client'; const registers = [new Registry()];" +
    "for (const Kind of [Counter, Gauge, Histogram]) for (const nr of [0, 1, 2, 3, 4, 5, 6, 7]) new Kind({ name: Kind.name + nr, help: 'h', labelNames: ['a', 'b'], registers });" +
    "export * from './src/serve.ts';",
}[without];

/** The modules that each start of the daemon with a configuration needs: in its bundle they are in the code cache, too. */
const NEEDED_BY_SERVE = ['yaml'];

/** Leaves out of a bundle what is imported on demand: code that never runs costs its reading at each start all the same. */
const leaveOutOnDemand = (bundled) => ({
  name: 'leave-out-on-demand',
  setup: ({ onResolve }) => {
    onResolve({ filter: /./ }, ({ path: wanted, kind }) => {
      const found = kind === 'dynamic-import' && !bundled.includes(wanted) ? onDemand.get(wanted) : undefined;
      return found && { path: `./lazy/${found.name}.cjs`, external: true };
    });
  },
});

/** One bundle in dist/. */
const bundle = (name, input, alias = {}) =>
  build({
    ...common,
    ...input,
    outfile: out('dist', `${name}.cjs`),
    bundle: true,
    format: 'cjs',
    minify: true,
    // By require: the loader of modules costs a start more than the modules do.
    supported: { 'dynamic-import': false },
    keepNames: false,
    sourcemap: 'linked',
    sourcesContent: false,
    external,
    alias,
    plugins: [
      leaveOutOnDemand(name !== 'serve' ? [] : without === 'lazy bundles' ? [...onDemand.keys()] : NEEDED_BY_SERVE),
    ],
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: "const __bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  });

// Before anything that imports them; the first of the two imports the tables as well.
buildWireTables();
await buildPage();
await buildConfigSchema();
rmSync(out('build'), { recursive: true, force: true });
await Promise.all([
  ...entries.map((name) =>
    bundle(
      name,
      name === 'serve' && instead !== undefined
        ? { stdin: { contents: instead, resolveDir: root } }
        : { entryPoints: [under('src', `${name}.ts`)] },
      name === 'serve' && without !== 'stub of proto-loader' ? withoutProtoLoader : {},
    ),
  ),
  ...[...onDemand.values()].map(({ name, gives }) =>
    bundle(`lazy/${name}`, { stdin: { contents: gives, resolveDir: root } }),
  ),
  build({
    ...common,
    entryPoints: libraries.map((name) => under('src', `${name}.ts`)),
    outdir: out('dist'),
    bundle: true,
    splitting: false,
    format: 'esm',
    minifySyntax: true,
    packages: 'external',
    sourcemap: 'linked',
    sourcesContent: false,
  }),
  build({
    ...common,
    entryPoints: [...sources(under('src')), ...sources(under('test'))],
    outbase: root,
    outdir: out('build'),
    format: 'esm',
    sourcemap: 'inline',
    sourcesContent: false,
  }),
]);
for (const name of ['plugin-broker', 'csi-node-driver-registrar']) {
  const file = out('dist', `${name}.cjs`);
  if (existsSync(file)) chmodSync(file, 0o755);
}
if (without !== 'code cache') await buildCodeCache(out());
