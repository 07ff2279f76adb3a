import picomatch from 'picomatch';
import type { CompileGlob } from '../../config/ports.js';

/** Globs as picomatch understands them, dot names included: `*`, `**`, `?`, `{a,b}`, `[a-z]`, `!`. */
export const compileGlob: CompileGlob = (pattern, kind) => {
  const options = kind === 'name' ? { dot: true, bash: true } : { dot: true, basename: !pattern.includes('/') };
  const matches = picomatch(pattern, options);
  return (text) => matches(text);
};
