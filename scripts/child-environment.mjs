// The environment in which tests and benches run. NODE_EXTRA_CA_CERTS makes each Node process read all root certificates
// before its first line, which takes longer than all else that it does to begin; no process here speaks TLS to a stranger.
const { ...environment } = process.env;
delete environment.NODE_EXTRA_CA_CERTS;

/** The environment of a child process. */
export const childEnvironment = { ...environment, NODE_NO_WARNINGS: '1' };
