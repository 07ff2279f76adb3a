// Completion for fish: a function says where on the way the command line is, and each line offers one word there.
import { steps, type CompletedCommand } from './tree.js';

/** The script. */
export function fishCompletion(tree: readonly CompletedCommand[]): string {
  const walk = steps(tree).map(
    ({ from, word, to }) => `            case ${quoted(`${from}|${word}`)}; set at ${quoted(to)}`,
  );
  const lines = tree.flatMap(({ path, subcommands, choices, options, names }) => {
    const here = `complete -c plugin-broker -n ${quoted(`__plugin_broker_at ${quoted(path)}`)}`;
    return [
      ...subcommands.map(({ name, about }) => `${here} -f -a ${quoted(name)} -d ${quoted(about)}`),
      ...(choices.length === 0 ? [] : [`${here} -f -a ${quoted(choices.join(' '))}`]),
      ...(names === undefined ? [] : [`${here} -f -a ${quoted(live(names))}`]),
      ...options.map(({ flags, about, takesValue, choices: fixed, names: known }) => {
        const values = known === undefined ? fixed : [live(known)];
        const spelled = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        const value = !takesValue ? '' : values.length === 0 ? ' -r' : ` -x -a ${quoted(values.join(' '))}`;
        return `${here} ${spelled.join(' ')}${value} -d ${quoted(about)}`;
      }),
    ];
  });
  return `# fish completion of plugin-broker
function __plugin_broker_at
    set -l at ''
    for word in (commandline -opc)[2..]
        switch "$at|$word"
${walk.join('\n')}
        end
    end
    test "$at" = "$argv[1]"
end
function __plugin_broker_names
    set -l where
    set -l option ''
    for word in (commandline -opc)[2..]
        if test -n "$option"
            set -a where $option (string replace -r '^~/' "$HOME/" -- $word)
            set option ''
            continue
        end
        switch $word
            case --
                break
            case --root --address
                set option $word
            case '--root=*' '--address=*'
                set -a where $word
        end
    end
    plugin-broker __names $argv $where 2>/dev/null
end
${lines.join('\n')}
`;
}

/** Names that the daemon which the command line names is asked for. */
function live(names: string): string {
  return `(__plugin_broker_names ${names})`;
}

/** A text in fish's single quotes, where only the quote and the backslash are special. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;
}
