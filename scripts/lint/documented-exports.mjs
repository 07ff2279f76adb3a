// A lint rule of this repository: every export carries a docstring.

/** Exported functions, classes, interfaces and type aliases need a block comment that starts with two stars. */
export const documentedExports = {
  meta: {
    type: 'suggestion',
    docs: { description: 'require a docstring on exported functions, classes, interfaces and types' },
    messages: {
      missing:
        '{{name}} is exported without a docstring: say what it takes and gives, its units, errors and the rule behind it',
    },
    schema: [],
  },
  create(context) {
    const named = new Set([
      'FunctionDeclaration',
      'ClassDeclaration',
      'TSInterfaceDeclaration',
      'TSTypeAliasDeclaration',
      'TSDeclareFunction',
    ]);
    const isDocumented = (node) =>
      context.sourceCode
        .getCommentsBefore(node)
        .some((comment) => comment.type === 'Block' && comment.value.startsWith('*'));
    return {
      ExportNamedDeclaration(node) {
        const declared = node.declaration;
        if (declared === null || !named.has(declared.type) || isDocumented(node)) return;
        context.report({ node: declared.id, messageId: 'missing', data: { name: declared.id.name } });
      },
    };
  },
};
