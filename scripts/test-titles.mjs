// The titles of tests in a test file: the title arguments of it, test, describe and suite. Text in comments or other strings, and
// titles of skipped tests, do not count.
import ts from 'typescript';

const CALLS = /^(it|test|describe|suite)$/;

/** The texts of titles in a TypeScript file; where a title is made of parts, each of its texts. */
export function testTitles(text) {
  const titles = [];
  const take = (node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node)) titles.push(node.text);
    ts.forEachChild(node, take);
  };
  const visit = (node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && CALLS.test(node.expression.text)) {
      node.arguments.slice(0, 1).forEach(take);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('a.test.ts', text, ts.ScriptTarget.Latest));
  return titles;
}
