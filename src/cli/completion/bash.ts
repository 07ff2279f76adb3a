// Completion for bash: one function that walks from word to word through the commands.
import { quoted, walkCases, type CompletedCommand } from './tree.js';

/** The script. Where it has nothing to offer, bash offers file names. */
export function bashCompletion(tree: readonly CompletedCommand[]): string {
  const values = tree.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .map(({ flags, choices, names }) => {
        const patterns = flags.map((flag) => quoted(`${path}|${flag}`)).join('|');
        return `    ${patterns}) words=${quoted(choices.join(' '))}${names === undefined ? '' : ` names=${names}`} ;;`;
      }),
  );
  const words = tree.map(({ path, subcommands, choices, options, names }) => {
    const offered = [...subcommands.map(({ name }) => name), ...choices, ...options.flatMap(({ flags }) => flags)];
    const live = names === undefined ? '' : ` names=${names}`;
    return `    ${quoted(path)}) words=${quoted(offered.join(' '))}${live} ;;`;
  });
  return `# bash completion of plugin-broker
# A word as it was typed, without its quotes; nothing in it is carried out.
_plugin_broker_typed() {
  local word=\${1//[\\"\\'\\\\]/}
  case "$word" in '~/'*) word="$HOME/\${word#'~/'}" ;; esac
  printf '%s' "$word"
}
_plugin_broker() {
  local at='' words='' names='' i word
  local -a where=() list
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      --) break ;;
      --root | --address)
        # Bash has --root=DIR in three words.
        i=$((i + 1))
        if [ "\${COMP_WORDS[i]}" = = ]; then i=$((i + 1)); fi
        if ((i < COMP_CWORD)); then where+=("$word" "$(_plugin_broker_typed "\${COMP_WORDS[i]}")"); fi
        continue ;;
    esac
    case "$at|$word" in
${walkCases(tree)}
    esac
  done
  case "$at|\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
    *) case "$at" in
${words.map((line) => `  ${line}`).join('\n')}
      esac ;;
  esac
  if [ -n "$names" ]; then words="$words $(plugin-broker __names $names "\${where[@]}" 2>/dev/null)"; fi
  # Not by compgen -W, which carries out what stands in its words: others chose some of them.
  read -r -d '' -a list <<< "$words"
  COMPREPLY=()
  for word in "\${list[@]}"; do
    case "$word" in "\${COMP_WORDS[COMP_CWORD]}"*) COMPREPLY+=("$word") ;; esac
  done
}
complete -o default -F _plugin_broker plugin-broker
`;
}
