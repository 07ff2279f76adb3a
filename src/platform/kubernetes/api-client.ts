// The few calls to the API server that publishing needs, as plain JSON: generated models would drop the fields they do not
// know.
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { asError, withDeadline, type Clock } from '../../kernel/clock.js';
import { loadApiConfig, type ApiConfig, type ApiConfigSource } from './api-config.js';
import { ApiFailure, failureOf } from './api-failure.js';

/** The options of the client. */
export interface ApiClientOptions extends ApiConfigSource {
  readonly clock: Clock;
  /** How long one call may take, in milliseconds. Default 10,000. */
  readonly callMs?: number;
}

/** One call. */
export interface ApiCall {
  /** Verb and object for messages: `get node worker-1`. */
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query below the server's address. */
  readonly path: string;
  readonly body?: object;
}

const CALL_MS = 10_000;
/** The largest answer taken; a Node with all its images is far below. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Lists of CSINode are merged by name with this one, so that a patch names only its changes. */
const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';

/** Calls the API server. Every call has a deadline, and every failure is an ApiFailure. */
export class ApiClient {
  readonly #options: ApiClientOptions;
  #config: Promise<ApiConfig> | undefined;

  constructor(options: ApiClientOptions) {
    this.#options = options;
  }

  /**
   * Calls, and gives the object that was answered.
   *
   * @throws ApiFailure, or the signal's reason
   */
  async call(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    const { clock, callMs = CALL_MS } = this.#options;
    const late = (): Error => new ApiFailure(0, `the API server did not ${call.what} within ${callMs} ms`);
    try {
      return await withDeadline(clock, callMs, late, (until) => this.#attempt(call, until), signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const failure =
        thrown instanceof ApiFailure
          ? thrown
          : new ApiFailure(0, `the API server cannot be asked to ${call.what}: ${asError(thrown).message}`);
      // The token may have been replaced, or the configuration corrected: read it anew next time.
      if (failure.status === 401 || failure.status === 0) this.#config = undefined;
      throw failure;
    }
  }

  /** The same, but an object that is not there is undefined. */
  async find(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.call(call, signal);
    } catch (failure) {
      if (failure instanceof ApiFailure && failure.isMissing) return undefined;
      throw failure;
    }
  }

  async #attempt(call: ApiCall, signal: AbortSignal): Promise<unknown> {
    this.#config ??= loadApiConfig(this.#options);
    const config = await this.#config;
    const options = await config.options();
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers = {
      ...(options.headers as OutgoingHttpHeaders | undefined),
      accept: 'application/json',
      ...(body === undefined
        ? {}
        : {
            'content-type': call.method === 'PATCH' ? STRATEGIC_PATCH : 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
    };
    const answer = await send(
      `${config.server}${call.path}`,
      { ...options, headers, method: call.method, signal },
      body,
    );
    if (answer.status < 200 || answer.status > 299) throw failureOf(call.what, answer, this.#options.clock.wall());
    return JSON.parse(answer.text) as unknown;
  }
}

function send(
  url: string,
  options: Parameters<typeof httpsRequest>[1],
  body: string | undefined,
): Promise<{ status: number; text: string; retryAfter: string | undefined }> {
  return new Promise((resolve, reject) => {
    const request = (url.startsWith('http:') ? httpRequest : httpsRequest)(url, options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) response.destroy(new Error(`it answered more than ${MAX_ANSWER_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        resolve({ status: response.statusCode ?? 0, text, retryAfter: response.headers['retry-after'] });
      });
      response.on('error', reject);
      response.on('aborted', () => reject(new Error('the connection ended in the middle of the answer')));
    });
    request.on('error', reject);
    request.end(body);
  });
}
