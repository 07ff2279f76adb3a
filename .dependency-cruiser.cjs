// Who may know whom. The drawing is in ARCHITECTURE.md; scripts/check-layer-rules.mjs shows that each rule here bites.
const STAGES =
  'config|discovery|registration|admission|flood|reconcile|session|inventory|checkpoint|journal|csi|dra|admin|allocation|podresources|cdi|front|page';
const PROGRAMS = 'cli|demo|sim|registrar|verify|library';
/** What authors of plugins import, and simulated plugins stand on. */
const AUTHORS = 'device-plugin';
/** Node modules that compute and touch nothing outside the process. */
const PURE_CORE = '^(node:)?(path|crypto|util|buffer)$';
/** Node modules that reach the network, other processes or the file system; what of node:fs a unit test may read is the linter's. */
const IO_CORE =
  '^(node:)?(fs/promises|net|http|http2|https|tls|dgram|dns|dns/promises|child_process|cluster|worker_threads|readline|repl|os)$';
const PACKAGES = ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown'];

module.exports = {
  forbidden: [
    {
      name: 'kernel-knows-nothing',
      comment: 'kernel/ is the ground: no model, no stage, no package, no Node module.',
      severity: 'error',
      from: { path: '^src/kernel/' },
      to: { pathNot: '^src/kernel/' },
    },
    {
      name: 'model-knows-only-the-kernel',
      comment: 'model/ holds nouns.',
      severity: 'error',
      from: { path: '^src/model/' },
      to: { pathNot: '^src/(model|kernel)/' },
    },
    {
      name: 'stages-do-not-know-each-other',
      comment: 'A stage says what it needs as an interface of its own; daemon/ passes the neighbour in.',
      severity: 'error',
      from: { path: `^src/(${STAGES})/` },
      to: { path: `^src/(${STAGES})/`, pathNot: '^src/$1/' },
    },
    {
      name: 'stages-know-only-model-and-kernel',
      comment: 'Nothing of platform/, of the programs or of the wiring.',
      severity: 'error',
      from: { path: `^src/(${STAGES})/` },
      to: { path: '^src/', pathNot: `^src/(${STAGES}|model|kernel)/` },
    },
    {
      name: 'packages-and-io-only-in-platform-and-programs',
      comment: 'Stages decide; files, sockets, processes and packages stay behind ports.',
      severity: 'error',
      from: { path: `^src/(${STAGES})/` },
      to: { dependencyTypes: [...PACKAGES, 'core'], pathNot: PURE_CORE },
    },
    {
      name: 'platform-sees-only-types-of-stages',
      comment: "An adapter implements a stage's port and never calls its behaviour.",
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: `^src/(${STAGES})/`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'platform-does-not-know-who-uses-it',
      severity: 'error',
      from: { path: '^src/platform/' },
      to: { path: `^src/((${PROGRAMS}|${AUTHORS}|daemon)/|[^/]+$)` },
    },
    {
      name: 'device-plugins-do-not-know-the-broker',
      comment: 'A plugin loads what it needs to serve and to register: no stage, no wiring, no program.',
      severity: 'error',
      from: { path: `^src/${AUTHORS}/` },
      to: { path: `^src/((${STAGES}|${PROGRAMS}|daemon|faults)/|[^/]+$)` },
    },
    {
      name: 'programs-do-not-know-stages',
      comment: 'A program talks to a running broker. What it needs of a stage is passed in by its entry.',
      severity: 'error',
      from: { path: `^src/(${PROGRAMS})/` },
      to: { path: `^src/((${STAGES}|daemon)/|[^/]+$)` },
    },
    {
      name: 'daemon-only-wires',
      comment: 'daemon/ puts stages and adapters together. It is no program, and I/O of its own would be an adapter.',
      severity: 'error',
      from: { path: '^src/daemon/' },
      to: { path: `^src/((${PROGRAMS}|${AUTHORS})/|[^/]+$)` },
    },
    {
      name: 'faults-come-from-outside',
      comment:
        'faults/ tests plugins through the interfaces of daemon/ and of stages. Only the entry for that brings it in.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(faults/|serve-under-test[.]ts$)' },
      to: { path: '^src/faults/' },
    },
    {
      name: 'faults-know-only-types',
      comment: 'It stands between parts and makes none of them.',
      severity: 'error',
      from: { path: '^src/faults/' },
      to: { path: '^src/', pathNot: '^src/(faults|model|kernel)/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'daemon-does-no-io',
      severity: 'error',
      from: { path: '^src/daemon/' },
      to: { dependencyTypes: [...PACKAGES, 'core'], pathNot: PURE_CORE, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'programs-do-not-know-each-other',
      comment:
        'Only the command line knows its subcommands, and the library verify. Tables and colours in cli/output/ serve all of them.',
      severity: 'error',
      from: { path: `^src/(${PROGRAMS})/`, pathNot: '^src/cli/' },
      to: { path: `^src/(${PROGRAMS})/`, pathNot: '^src/($1|cli/output|verify)/' },
    },
    {
      name: 'only-command-line-and-library-know-verify',
      severity: 'error',
      from: { path: `^src/(${PROGRAMS})/`, pathNot: '^src/(cli|library|verify)/' },
      to: { path: '^src/verify/' },
    },
    {
      name: 'source-never-imports-tests',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(test|scripts|build)/' },
    },
    {
      name: 'shipped-code-uses-shipped-packages',
      comment: 'What src/ imports is a dependency of the package, not of its development.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'unit-tests-do-no-io',
      comment: 'A test of files, sockets or processes belongs to test/integration/.',
      severity: 'error',
      from: { path: '^test/unit/' },
      to: { dependencyTypes: ['core'], path: IO_CORE },
    },
    {
      name: 'the-browser-sees-only-views',
      comment:
        'browser/ runs in a browser: of the broker it knows the types of what it is sent. The characters that nobody sees are the same on the page and in a terminal.',
      severity: 'error',
      from: { path: '^src/browser/' },
      to: { path: '^src/', pathNot: '^src/(browser/|kernel/visible[.]ts$)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'nobody-imports-the-browser',
      comment: 'It is served as text, which scripts/build-page.mjs makes.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/browser/' },
      to: { path: '^src/browser/' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      comment:
        'A file that nobody imports and that imports nothing is dead. The build itself puts absent-* in place of packages, and makes a table of each .proto file.',
      severity: 'error',
      from: { orphan: true, path: '^src/', pathNot: '(\\.d\\.ts|/absent-[^/]+|^src/generated/.*)$' },
      to: {},
    },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
