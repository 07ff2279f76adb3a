// The manual page, made from the program's own texts: `help`, and the help of each command it names.

/** roff takes a backslash for its own, and a dot or a quote at the beginning of a line for a request. */
const plain = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1');
const verbatim = (text) => `.nf\n${plain(text.trimEnd())}\n.fi\n`;

/** The commands that a help text lists, in its order; each stands at the beginning of a line, after two spaces. */
function commandsOf(help) {
  const names = [...help.matchAll(/^ {2}([a-z][a-z-]*)(?: |$)/gm)].map(([, name]) => name);
  return [...new Set(names)].filter((name) => name !== 'help');
}

/**
 * The page in roff.
 *
 * @param say runs the program with arguments and gives what it prints
 */
export function manualPage(say, version) {
  const help = say('--help');
  const page = [
    `.TH PLUGIN\\-BROKER 1 "" "plugin\\-broker ${version}" "User Commands"`,
    '.SH NAME',
    "plugin\\-broker \\- the kubelet's side of plugin registration as a daemon of its own",
    '.SH SYNOPSIS',
    '.B plugin\\-broker',
    'COMMAND [OPTION]...',
    '.SH DESCRIPTION',
    verbatim(help),
    '.SH COMMANDS',
  ];
  const add = (words) => {
    const text = say(...words, '--help');
    page.push(`.SS ${plain(words.join(' '))}`, verbatim(text));
    if (words.length === 1 && /^Commands:$/m.test(text)) for (const sub of commandsOf(text)) add([...words, sub]);
  };
  for (const command of commandsOf(help)) add([command]);
  page.push(
    '.SH FILES',
    '.TP',
    '.I /etc/plugin\\-broker/plugin\\-broker.yaml',
    'The configuration of the service.',
    '.TP',
    '.I /var/lib/plugin\\-broker',
    'The root: sockets and state.',
    '',
  );
  return page.join('\n');
}
