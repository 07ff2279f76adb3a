// Completion for zsh: the same walk as in bash, with descriptions.
import { quoted, walkCases, type CompletedCommand } from './tree.js';

/** The script, for `source` or for a file called _plugin-broker in $fpath. */
export function zshCompletion(tree: readonly CompletedCommand[]): string {
  const values = tree.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices, names }) => {
        const patterns = flags.map((flag) => quoted(`${path}|${flag}`)).join('|');
        const values = names === undefined ? choices.map(quoted).join(' ') : live(names);
        return `    ${patterns}) ${values === '' ? '_files' : `compadd -- ${values}`}; return ;;`;
      }),
  );
  const words = tree.map(({ path, subcommands, choices, options, names }) => {
    const offered = [
      ...subcommands.map(({ name, about }) => described(name, about)),
      ...choices.map((choice) => described(choice, '')),
    ];
    const flagged = options.flatMap(({ flags, about }) => flags.map((flag) => described(flag, about)));
    const known = names === undefined ? '' : ` ${live(names)}`;
    return `    ${quoted(path)}) offered=(${offered.map(quoted).join(' ')}${known}) options=(${flagged.map(quoted).join(' ')}) ;;`;
  });
  return `#compdef plugin-broker
# zsh completion of plugin-broker
_plugin_broker() {
  local at='' word
  local -a offered options where
  local -i found=1 i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case "$word" in
      --) break ;;
      --root|--address)
        (( ++i < CURRENT )) && where+=("$word" "\${\${(Q)words[i]}/#\\~\\//$HOME/}")
        continue ;;
      --root=*|--address=*)
        where+=("\${(Q)word}")
        continue ;;
    esac
    case "$at|$word" in
${walkCases(tree)}
    esac
  done
  case "$at|\${words[CURRENT-1]}" in
${values.join('\n')}
  esac
  case "$at" in
${words.join('\n')}
  esac
  # As options (-o) only words that begin with a hyphen are offered.
  (( $#offered )) && _describe plugin-broker offered && found=0
  _describe -o option options && found=0
  (( found )) && _files
}
# A file in $fpath is called by its own name, the first time with a completion that is wanted; a sourced one is not.
if [[ "$funcstack[1]" = _plugin-broker ]]; then _plugin_broker "$@"; else compdef _plugin_broker plugin-broker; fi
`;
}

/** Names that the daemon which the command line names is asked for. */
function live(names: string): string {
  return `\${(f)"$(plugin-broker __names ${names} "\${where[@]}" 2>/dev/null)"}`;
}

/** A word with its description, as _describe takes them. */
function described(word: string, about: string): string {
  return `${word.replaceAll(':', String.raw`\:`)}:${about}`;
}
