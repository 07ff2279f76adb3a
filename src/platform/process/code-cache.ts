// Reads a bundle together with V8's compiled form of it: a start does not compile again. The cache is written by
// scripts/build-code-cache.mjs and only speeds things up: V8 refuses one of another version of Node, other flags, and compiles
// then as if there were none. Of the source V8 only compares the length, so we compare the rest.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Script } from 'node:vm';
import { ifPossible } from '../../kernel/if-possible.js';

/** How Node wraps a CommonJS module. */
const HEAD = Buffer.from('(function (exports, require, module, __filename, __dirname) {');
const TAIL = Buffer.from('\n})');

/** A compiled bundle. */
export interface Bundle {
  /** Whether V8 took the cache. */
  readonly isFromCache: boolean;
  /** Runs it as `require` would. Returns what it exports. */
  run(): unknown;
  /** The file of its cache with V8's compiled code so far, for later starts. */
  cacheFile(): { readonly path: string; readonly bytes: Buffer };
}

/** Bytes of the digest at the head of a cache file, which identifies its source. */
const DIGEST_BYTES = 32;

/**
 * Compiles a bundle, from its cache where there is one.
 *
 * @param file absolute path of a CommonJS bundle in ASCII
 */
export function openBundle(file: string): Bundle {
  const source = readFileSync(file);
  const digest = createHash('sha256').update(source).digest();
  const cachePath = `${file}.cache`;
  const cachedData = cacheOf(cachePath, digest);
  // Put together as bytes: a text that is put together stays in memory beside its parts, a megabyte each.
  const script = new Script(Buffer.concat([HEAD, source, TAIL]).toString('latin1'), {
    filename: file,
    columnOffset: -HEAD.length,
    ...(cachedData === undefined ? {} : { cachedData }),
  });
  return {
    isFromCache: script.cachedDataRejected === false,
    run: () => {
      const wrapped = script.runInThisContext() as (...given: unknown[]) => void;
      const module = { exports: {} as unknown };
      wrapped.call(module.exports, module.exports, createRequire(file), module, file, path.dirname(file));
      return module.exports;
    },
    cacheFile: () => ({ path: cachePath, bytes: Buffer.concat([digest, script.createCachedData()]) }),
  };
}

/** The cache of exactly this source; undefined where there is none. */
function cacheOf(cachePath: string, digest: Buffer): Buffer | undefined {
  const bytes = ifPossible(() => readFileSync(cachePath));
  if (bytes === undefined || !digest.equals(bytes.subarray(0, DIGEST_BYTES))) return undefined;
  return bytes.subarray(DIGEST_BYTES);
}
