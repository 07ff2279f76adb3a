// Builds two things: dist/, the bundles that people run, and build/, the same sources file by file for the tests.
import { readdirSync, rmSync, chmodSync, existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { buildConfigSchema } from './build-config-schema.mjs';

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

// koffi is native, the Kubernetes client is large and optional: both are found in node_modules when they are needed.
const external = ['koffi', '@kubernetes/client-node', './serve.cjs', './cli.cjs'];

const entries = ['serve', 'cli', 'plugin-broker', 'csi-node-driver-registrar'].filter((name) =>
  existsSync(under('src', `${name}.ts`)),
);

/** grpc-js wants proto-loader for channelz and load reports, which the daemon has switched off: a third of its start-up. */
const withoutProtoLoader = { '@grpc/proto-loader': under('src', 'platform', 'grpc', 'absent-proto-loader.ts') };

/** One bundle in dist/. */
const bundle = (name, alias = {}) =>
  build({
    ...common,
    entryPoints: { [name]: under('src', `${name}.ts`) },
    outdir: out('dist'),
    outExtension: { '.js': '.cjs' },
    bundle: true,
    format: 'cjs',
    minify: true,
    keepNames: false,
    sourcemap: 'linked',
    sourcesContent: false,
    external,
    alias,
    define: { 'import.meta.url': '__bundleUrl' },
    banner: { js: "const __bundleUrl=require('node:url').pathToFileURL(__filename).href;" },
  });

// Before anything that imports it.
await buildConfigSchema();
rmSync(out('build'), { recursive: true, force: true });
await Promise.all([
  ...entries.map((name) => bundle(name, name === 'serve' ? withoutProtoLoader : {})),
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
