import { readFileSync } from 'node:fs';
import path from 'node:path';
import { validateXML } from 'xmllint-wasm';
import { buildRoot } from './dist.js';

/** The faults of a JUnit report by test/support/junit.xsd; empty when there are none. */
export async function junitProblems(report: string): Promise<readonly string[]> {
  const schema = readFileSync(path.join(buildRoot(), 'test', 'support', 'junit.xsd'), 'utf8');
  const { errors } = await validateXML({ xml: { fileName: 'junit.xml', contents: report }, schema });
  return errors.map(({ rawMessage }) => rawMessage);
}
