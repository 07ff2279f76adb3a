// The declarations of the package, one file an entry, and the reports of its API in etc/: made when it is packed, and by
// `npm run api`, which fails when a report differs from the one that is committed (--write writes it).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.join(root, 'build', 'declarations');
const ENTRIES = ['broker', 'device-plugin', 'verify'];
/** Users of any TypeScript configuration then have AsyncDisposable and Node's other types. */
const NODE = '/// <reference types="node" />\n';

mkdirSync(folder, { recursive: true });
mkdirSync(path.join(root, 'etc'), { recursive: true });
const config = {
  extends: path.join(root, 'tsconfig.json'),
  compilerOptions: {
    ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, incremental: false, tsBuildInfoFile: null },
    ...{
      rootDir: path.join(root, 'src'),
      outDir: folder,
      stripInternal: true,
      typeRoots: [path.join(root, 'node_modules', '@types')],
    },
  },
  include: [],
  files: ENTRIES.map((name) => path.join(root, 'src', `${name}.ts`)),
};
const project = path.join(folder, 'tsconfig.json');
writeFileSync(project, JSON.stringify(config));
execFileSync(process.execPath, [path.join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', project], {
  stdio: 'inherit',
});

const isWriting = process.argv.includes('--write');
let differs = false;
for (const name of ENTRIES) {
  const report = path.join(root, 'etc', `${name}.api.md`);
  const rollup = path.join(root, 'dist', `${name}.d.ts`);
  rmSync(rollup, { force: true });
  const extractorConfig = ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: path.join(folder, `${name}.d.ts`),
      compiler: { tsconfigFilePath: project },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: path.join(root, 'etc'),
        reportTempFolder: folder,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: true, untrimmedFilePath: rollup },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'warning' } },
        extractorMessageReporting: {
          default: { logLevel: 'warning' },
          'ae-missing-release-tag': { logLevel: 'none' },
          'ae-undocumented': { logLevel: 'none' },
          'ae-forgotten-export': { logLevel: 'none' },
          'ae-unresolved-link': { logLevel: 'none' },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: path.join(root, 'package.json'),
  });
  const { errorCount, warningCount } = Extractor.invoke(extractorConfig, {
    localBuild: isWriting,
    showVerboseMessages: false,
    messageCallback: (message) => {
      if (message.logLevel === 'none' || message.logLevel === 'verbose' || message.logLevel === 'info')
        message.handled = true;
      if (message.messageId === 'console-api-report-not-copied' || message.messageId === 'console-api-report-missing')
        message.handled = true;
    },
  });
  const declarations = readFileSync(rollup, 'utf8');
  if (!declarations.startsWith(NODE)) writeFileSync(rollup, NODE + declarations);
  const made = readFileSync(path.join(folder, `${name}.api.md`), 'utf8');
  const before = existsSync(report) ? readFileSync(report, 'utf8') : '';
  if (before !== made) {
    if (isWriting) writeFileSync(report, made);
    else differs = true;
  }
  console.log(
    `${name}: ${errorCount} errors, ${warningCount} warnings${before === made || isWriting ? '' : `, differs from etc/${name}.api.md`}`,
  );
}
if (differs && process.argv.includes('--check')) {
  console.error('the API has changed: say so in CHANGELOG.md, then npm run api -- --write');
  process.exitCode = 1;
}
