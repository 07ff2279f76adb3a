// A lint rule of this repository: names in directories that others may write are changed in one place only.

/** Calls of node:fs that change the target of a path, or its permissions. */
const CHANGES =
  /^(l?chmod|l?chown|rename|unlink|rm|rmdir|symlink|link|l?utimes|mkdtemp|mkdtempDisposable|copyFile|cp)(Sync)?$/;
/** Calls of node:fs that make the file of a path, or write over it: a link in its place leads them elsewhere. */
const WRITES = /^((writeFile|appendFile|truncate)(Sync)?|createWriteStream|WriteStream|FileWriteStream)$/;
/** Flags of open(2) by which a file is made or written. */
const WRITING_FLAGS = /^O_(CREAT|TRUNC|WRONLY|RDWR|APPEND)$/;
/** The calls whose second argument is such flags, as a text too. */
const OPENS = /^open(Sync)?$/;
const FILE_SYSTEM = /^(node:)?fs(\/promises)?$/;
/** It exports operations on any path, without a name of node:fs. */
const NODE_FILES = /\/store\/node-files(\.js)?$/;

/**
 * Forbids these calls, however they are come by. Files that may have them are in eslint.config.js: the rule is off there, or
 * `allow` names the calls that may pass: `writes` to files that the user of the program names, `nodeFiles` for state/.
 */
export const namesInDirectories = {
  meta: {
    type: 'problem',
    docs: { description: 'forbid changing names outside platform/fs' },
    messages: {
      elsewhere:
        '{{name}} by path can be led elsewhere by any user that writes a directory above: use PinnedDirectory or SocketPlace (src/platform/fs)',
      unseen:
        'it cannot be seen here which calls of node:fs are used: import them by name, or write fs.name or fs.promises.name',
      nodeFiles: 'nodeFiles changes names by path, and is for state/ only: use PinnedDirectory (src/platform/fs)',
    },
    schema: [
      {
        type: 'object',
        properties: { allow: { type: 'array', items: { enum: ['writes', 'nodeFiles'] } } },
        additionalProperties: false,
      },
    ],
  },
  create(context) {
    const allowed = new Set(context.options[0]?.allow);
    const isForbidden = (name) => CHANGES.test(name) || (WRITES.test(name) && !allowed.has('writes'));
    const unseen = (node) => context.report({ node, messageId: 'unseen' });
    const byName = (node, name) => {
      if (isForbidden(name)) context.report({ node, messageId: 'elsewhere', data: { name } });
    };

    /** Looks at what becomes of an expression that is node:fs or its promises. */
    function follow(node) {
      const { parent } = node;
      if (parent.type === 'MemberExpression' && parent.object === node) {
        const name = keyOf(parent.property, parent.computed);
        if (name === undefined) unseen(parent);
        else if (name === 'promises' || name === 'default') follow(parent);
        else checkUse(parent, name);
      } else if (parent.type === 'VariableDeclarator' && parent.init === node) takeApart(parent.id);
      else if (!parent.type.startsWith('TS') || parent.type.endsWith('Expression')) unseen(node);
    }

    function takeApart(pattern) {
      if (pattern.type !== 'ObjectPattern') return unseen(pattern);
      for (const property of pattern.properties) {
        const name = property.type === 'Property' ? keyOf(property.key, property.computed) : undefined;
        if (name === undefined) unseen(property);
        else if (name === 'promises' || name === 'default') takeApart(property.value);
        // Its flags would have to be followed.
        else if (OPENS.test(name)) unseen(property);
        else byName(property, name);
      }
    }

    function checkUse(node, name) {
      byName(node, name);
      if (!OPENS.test(name)) return;
      const { parent } = node;
      if (parent.type === 'CallExpression' && parent.callee === node) checkOpen(parent, name);
      else unseen(node);
    }

    function checkOpen(call, name) {
      const flags = textOf(call.arguments[1]);
      if (flags !== undefined && flags !== 'r') report(call, name);
    }

    function report(node, name) {
      if (!allowed.has('writes')) context.report({ node, messageId: 'elsewhere', data: { name } });
    }

    function checkSource(node, source) {
      const text = textOf(source);
      if (text === undefined) return;
      if (FILE_SYSTEM.test(text)) unseen(node);
      else checkOurs(node, text);
    }

    function checkOurs(node, source) {
      if (NODE_FILES.test(source) && !allowed.has('nodeFiles')) context.report({ node, messageId: 'nodeFiles' });
    }

    return {
      ImportDeclaration(node) {
        if (node.importKind !== 'type') checkOurs(node, node.source.value);
        if (!FILE_SYSTEM.test(node.source.value)) return;
        for (const specifier of node.specifiers) {
          const name = specifier.type === 'ImportSpecifier' ? keyOf(specifier.imported, false) : 'default';
          const uses = context.sourceCode
            .getDeclaredVariables(specifier)
            .flatMap(({ references }) => references.map(({ identifier }) => identifier));
          if (name === 'promises' || name === 'default') uses.forEach(follow);
          else if (OPENS.test(name)) uses.forEach((use) => checkUse(use, name));
          else byName(specifier, name);
        }
      },
      ImportExpression: (node) => checkSource(node, node.source),
      TSImportEqualsDeclaration: (node) => checkSource(node, node.moduleReference.expression),
      ExportNamedDeclaration: (node) => checkSource(node, node.source),
      ExportAllDeclaration: (node) => checkSource(node, node.source),
      // require, createRequire(…)(…), process.getBuiltinModule
      CallExpression: (node) => checkSource(node, node.arguments[0]),
      // Wherever the constants come from.
      Identifier(node) {
        if (WRITING_FLAGS.test(node.name)) report(node, `open with ${node.name}`);
      },
    };
  },
};

/** The key of a member, or undefined where it is made while the program runs. */
function keyOf(node, isComputed) {
  return node.type === 'Identifier' && !isComputed ? node.name : textOf(node);
}

/** A text that stands in the source. */
function textOf(node) {
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0) return node.quasis[0].value.cooked;
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : undefined;
}
