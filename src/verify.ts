// The package `plugin-broker/verify`: the command `verify` for programs.
export { verifyPlugin } from './verify/verify-plugin.js';
export type { VerifyLine, VerifyOptions, VerifyReport, VerifyResult } from './verify/verify-plugin.js';
