// The package `plugin-broker/verify`: what the command `verify` does, for programs.
export { verifyPlugin } from './verify/verify-plugin.js';
export type { VerifyLine, VerifyOptions, VerifyReport, VerifyResult } from './verify/verify-plugin.js';
