// One linter. Format is prettier's, layers are dependency-cruiser's; here stand types, promises and the idioms of this repository.
import n from 'eslint-plugin-n';
import tseslint from 'typescript-eslint';
import { documentedExports } from './scripts/lint/documented-exports.mjs';
import { namesInDirectories } from './scripts/lint/names-in-directories.mjs';

const PROGRAMS = [
  'src/browser/**/*.ts',
  'src/cli/**',
  'src/demo/**',
  'src/sim/**',
  'src/device-plugin/**',
  'src/library/**',
  'src/demo/**',
  'src/registrar/**',
  'src/verify/**',
  'src/serve.ts',
  'src/serve-under-test.ts',
  'src/daemon-bundle.ts',
  'src/cli.ts',
  'src/plugin-broker.ts',
  'src/csi-node-driver-registrar.ts',
  'src/broker.ts',
  'src/device-plugin.ts',
  'src/verify.ts',
];

/**
 * Who may change names by path: the module for directories that others may write; what is done inside state/, which
 * nobody but the broker enters; and programs in private roots of their own.
 */
const CHANGE_NAMES = [
  'src/platform/fs/pinned-directory.ts',
  'src/platform/fs/socket-place.ts',
  // What these two do it with, where it must not wait.
  'src/platform/fs/name-calls.ts',
  'src/platform/fs/call-thread.ts',
  // Root's own directory, which container engines trust.
  'src/platform/fs/cdi-directory.ts',
  'src/platform/store/**',
  'src/platform/kubernetes/atomic-file.ts',
  // A temporary root of a program that was killed, named by that program.
  'src/platform/process/abandoned-root.ts',
  // Roots of their own.
  'src/library/broker-root.ts',
  'src/demo/**',
  // Directories of its own, and a kubelet's that goes and comes. Sockets of plugins are removed by src/verify/sockets.ts.
  'src/verify/directories.ts',
  'src/verify/registry-faults.ts',
];

/** Programs that write files which their users name, or in directories of their own. */
const WRITE_FILES = [
  'src/cli/commands/verify.ts',
  'src/cli/commands/verify-outputs.ts',
  'src/registrar/registrar.ts',
  // Through the open directory.
  'src/sim/kubelet/wary-files.ts',
  'src/verify/report/**',
];

/** Who gives `nodeFiles` to the parts that work in state/, and reads it there. */
const USE_NODE_FILES = ['src/daemon/assemble.ts', 'src/cli-checkpoint.ts'];

const inject = (what, instead) => ({
  name: what,
  message: `${instead} (rule of this repository: time and chance are passed in)`,
});
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'].map(
  (name) => inject(name, 'take a Clock and use alarm() or sleep()'),
);
const PERFORMANCE = inject('performance', 'take a Clock and use mono()');
const CONSOLE = { name: 'console', message: 'take a Log' };
const PROCESS = { name: 'process', message: 'only platform/ and the programs see the process; pass in what is needed' };
const CLOCK_AND_CHANCE = [
  { object: 'Date', property: 'now', message: 'take a Clock and use wall() or mono()' },
  { object: 'Math', property: 'random', message: 'take a Random' },
  { object: 'AbortSignal', property: 'timeout', message: 'take a Clock and use withDeadline()' },
];
const TIME_MODULES = {
  name: 'node:timers/promises',
  message: 'take a Clock and use sleep()',
};
const TIME_IMPORTS = [TIME_MODULES, { ...TIME_MODULES, name: 'node:timers' }, { ...TIME_MODULES, name: 'timers' }];
const PROCESS_IMPORTS = [{ name: 'node:process', message: PROCESS.message }];

/** Shapes that no file of ours has. */
const NOWHERE = [
  {
    selector:
      "PropertyDefinition[accessibility='private'], MethodDefinition[accessibility='private'][kind!='constructor']",
    message: 'use #private',
  },
  {
    selector: "CallExpression[callee.object.name=/^(it|describe|test|suite)$/][callee.property.name='only']",
    message: 'a committed .only hides every other test',
  },
];
/** Shapes that src/ does not have. */
const NOT_IN_SRC = [
  ...NOWHERE,
  { selector: 'ExportAllDeclaration', message: 'no barrels: import the file that has the thing' },
  { selector: 'ExportNamedDeclaration[source]', message: 'no barrels: import the file that has the thing' },
  {
    selector:
      "Program > VariableDeclaration[kind='let'], Program > ExportNamedDeclaration > VariableDeclaration[kind='let']",
    message: 'no module-level mutable state: give it to an object',
  },
  {
    selector:
      'Program > VariableDeclaration > VariableDeclarator > NewExpression[callee.name=/^(Map|Set|WeakMap|WeakSet)$/][arguments.length=0]',
    message: 'no module-level mutable state: give it to an object',
  },
];
const READS_CLOCK = {
  selector: "NewExpression[callee.name='Date'][arguments.length=0], CallExpression[callee.name='Date']",
  message: 'take a Clock and use wall()',
};

export default tseslint.config(
  { ignores: ['node_modules/', 'dist/', 'build/', 'coverage/', 'src/generated/', 'test/golden/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: {
      n,
      house: { rules: { 'documented-exports': documentedExports, 'names-in-directories': namesInDirectories } },
    },
    settings: { n: { version: '>=20.19.0' } },
    rules: {
      '@typescript-eslint/consistent-type-exports': 'error',
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-confusing-void-expression': [
        'error',
        { ignoreArrowShorthand: true, ignoreVoidOperator: true, ignoreVoidReturningFunctions: true },
      ],
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['describe', 'it', 'suite', 'test'], package: 'node:test' },
          ],
        },
      ],
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrors: 'none' }],
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/return-await': ['error', 'in-try-catch'],
      '@typescript-eslint/strict-boolean-expressions': ['error', { allowNumber: false, allowString: false }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { allowDefaultCaseForExhaustiveSwitch: true, considerDefaultExhaustiveForUnions: true },
      ],
      eqeqeq: 'error',
      'n/no-deprecated-api': 'error',
      'n/no-extraneous-import': 'error',
      'n/no-path-concat': 'error',
      'n/no-unsupported-features/es-builtins': 'error',
      'n/no-unsupported-features/node-builtins': [
        'error',
        // These work on every supported version and were merely marked experimental in the older ones.
        {
          ignores: [
            'import.meta.dirname',
            'import.meta.filename',
            'inspector/promises',
            'test',
            'test.describe',
            'test.it',
          ],
        },
      ],
      'n/prefer-node-protocol': 'error',
      'no-restricted-exports': [
        'error',
        { restrictDefaultExports: { direct: true, named: true, defaultFrom: true, namedFrom: true } },
      ],
      'no-restricted-syntax': ['error', ...NOWHERE],
      'no-var': 'error',
      'object-shorthand': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['src/**/*.ts'],
    rules: {
      'house/documented-exports': 'error',
      'house/names-in-directories': 'error',
      'max-lines': ['error', { max: 300 }],
      'no-restricted-globals': ['error', ...TIMERS, PERFORMANCE, CONSOLE, PROCESS],
      'no-restricted-imports': ['error', ...TIME_IMPORTS, ...PROCESS_IMPORTS],
      'no-restricted-properties': ['error', ...CLOCK_AND_CHANCE],
      'no-restricted-syntax': ['error', ...NOT_IN_SRC, READS_CLOCK],
    },
  },
  { files: WRITE_FILES, rules: { 'house/names-in-directories': ['error', { allow: ['writes'] }] } },
  { files: USE_NODE_FILES, rules: { 'house/names-in-directories': ['error', { allow: ['nodeFiles'] }] } },
  { files: CHANGE_NAMES, rules: { 'house/names-in-directories': 'off' } },
  {
    // Where I/O lives the process may be seen; time still comes in.
    files: ['src/platform/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...TIMERS, PERFORMANCE, CONSOLE],
      'no-restricted-imports': ['error', ...TIME_IMPORTS],
    },
  },
  {
    // Users may read a kubelet's directories, and hold their locks.
    files: ['src/platform/kubelet/**/*.ts'],
    rules: {
      'no-restricted-imports': [
        'error',
        ...TIME_IMPORTS,
        { name: 'node:fs', message: 'a call by path may never return: use platform/fs/name-calls' },
      ],
    },
  },
  {
    // The homes of time and chance, and the programs that stand at the edge of the process.
    files: ['src/platform/time/**/*.ts', ...PROGRAMS],
    rules: {
      'no-restricted-globals': 'off',
      'no-restricted-imports': 'off',
      'no-restricted-properties': 'off',
      'no-restricted-syntax': ['error', ...NOT_IN_SRC],
    },
  },
  // It runs in a browser, not in Node.
  {
    files: ['src/browser/**/*.ts'],
    rules: { 'n/no-unsupported-features/node-builtins': 'off', 'n/no-unsupported-features/es-builtins': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      // Fakes keep the shape of their port: asynchronous without awaiting, methods that do nothing.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/strict-boolean-expressions': [
        'error',
        { allowNullableBoolean: true, allowNumber: false, allowString: false },
      ],
      'max-lines': ['error', { max: 500 }],
    },
  },
  {
    // Unit tests have no real time: a FakeClock and a seeded Random.
    files: ['test/unit/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', ...TIMERS.filter(({ name }) => !name.endsWith('Immediate')), CONSOLE],
      // What the repository ships and keeps may be read; nothing else is touched.
      'no-restricted-imports': [
        'error',
        {
          name: 'node:fs',
          allowImportNames: ['existsSync', 'readFileSync', 'readdirSync'],
          message: 'a unit test reads shipped files at most; what does more belongs to test/integration/',
        },
      ],
      'no-restricted-properties': ['error', ...CLOCK_AND_CHANCE],
    },
  },
  {
    // Scripts and configuration are plain JavaScript, outside the TypeScript project.
    files: ['**/*.js', '**/*.mjs', '**/*.cjs'],
    extends: [tseslint.configs.strict, tseslint.configs.disableTypeChecked],
    plugins: { n },
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
        performance: 'readonly',
      },
    },
    rules: {
      '@typescript-eslint/no-require-imports': 'off',
      eqeqeq: 'error',
      'n/prefer-node-protocol': 'error',
      'no-undef': 'error',
      'prefer-const': 'error',
    },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { module: 'writable', require: 'readonly', __dirname: 'readonly' },
    },
  },
  {
    // What the package gives to programs, name by name.
    files: ['src/broker.ts', 'src/device-plugin.ts', 'src/verify.ts'],
    rules: { 'no-restricted-syntax': ['error', ...NOWHERE] },
  },
);
