import { readFileSync } from 'node:fs';
import path from 'node:path';
import { validateXML } from 'xmllint-wasm';
import { buildRoot } from './dist.js';

/** What is wrong with a JUnit report by test/support/junit.xsd; empty when nothing is. */
export async function junitProblems(report: string): Promise<readonly string[]> {
  const schema = readFileSync(path.join(buildRoot(), 'test', 'support', 'junit.xsd'), 'utf8');
  const { errors } = await validateXML({ xml: { fileName: 'junit.xml', contents: report }, schema });
  return errors.map(({ rawMessage }) => rawMessage);
}
