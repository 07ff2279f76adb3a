// A lint rule of this repository: names in directories that others may write are changed in one place only.

/** Calls of node:fs that change the target of a path, or its permissions. */
const CHANGES = /^(l?chmod|l?chown|rename|unlink|rm|rmdir|symlink|link|lutimes|mkdtemp|copyFile|cp)(Sync)?$/;
const FILE_SYSTEM = /^(node:)?fs(\/promises)?$/;

/** Only the files named in eslint.config.js import these calls; all others use platform/fs. */
export const namesInDirectories = {
  meta: {
    type: 'problem',
    docs: { description: 'forbid changing names outside platform/fs' },
    messages: {
      elsewhere:
        '{{name}} by path can be led elsewhere by any user that writes a directory above: use PinnedDirectory or SocketPlace (src/platform/fs)',
    },
    schema: [],
  },
  create(context) {
    const modules = new Set();
    const report = (node, name) => context.report({ node, messageId: 'elsewhere', data: { name } });
    return {
      ImportDeclaration(node) {
        if (!FILE_SYSTEM.test(node.source.value)) return;
        for (const specifier of node.specifiers) {
          if (specifier.type !== 'ImportSpecifier') modules.add(specifier.local.name);
          else if (CHANGES.test(specifier.imported.name)) report(specifier, specifier.imported.name);
          else if (specifier.imported.name === 'promises') modules.add(specifier.local.name);
        }
      },
      MemberExpression(node) {
        if (node.object.type !== 'Identifier' || !modules.has(node.object.name)) return;
        if (node.property.type === 'Identifier' && CHANGES.test(node.property.name)) report(node, node.property.name);
      },
    };
  },
};
