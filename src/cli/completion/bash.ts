// Completion for bash: one function that walks from word to word through the commands.
import { quoted, steps, type CompletedCommand } from './tree.js';

/** The script. Where it has nothing to offer, bash offers file names. */
export function bashCompletion(tree: readonly CompletedCommand[]): string {
  const walk = steps(tree).map(({ from, word, to }) => `      ${quoted(`${from}|${word}`)}) at=${quoted(to)} ;;`);
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
_plugin_broker() {
  local at='' words='' names='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at|\${COMP_WORDS[i]}" in
${walk.join('\n')}
    esac
  done
  case "$at|\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
    *) case "$at" in
${words.map((line) => `  ${line}`).join('\n')}
      esac ;;
  esac
  if [ -n "$names" ]; then words="$words $(plugin-broker __names $names 2>/dev/null)"; fi
  # Not by compgen -W, which carries out what stands in its words: others chose some of them.
  local list word
  read -r -d '' -a list <<< "$words"
  COMPREPLY=()
  for word in "\${list[@]}"; do
    case "$word" in "\${COMP_WORDS[COMP_CWORD]}"*) COMPREPLY+=("$word") ;; esac
  done
}
complete -o default -F _plugin_broker plugin-broker
`;
}
