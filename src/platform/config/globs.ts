import picomatch from 'picomatch';
import type { CompileGlob } from '../../config/ports.js';

/** Patterns that match themselves alone. */
const PLAIN = /^[\w.-]+(\/[\w.-]+)*$/;

/** Globs as picomatch understands them, dot names included: `*`, `**`, `?`, `{a,b}`, `[a-z]`, `!`. */
export const compileGlob: CompileGlob = (pattern, kind) => {
  // Most patterns for types are just a name, and each new plugin is asked about by each rule.
  if (kind === 'name' && PLAIN.test(pattern)) return (text) => text === pattern;
  const options = kind === 'name' ? { dot: true, bash: true } : { dot: true, basename: !pattern.includes('/') };
  const matches = picomatch(pattern, options);
  return (text) => matches(text);
};
