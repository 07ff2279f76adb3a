// Shows something once, or keeps it on screen.
import { setTimeout as pause } from 'node:timers/promises';
import { Unreachable } from '../../platform/grpc/admin-failure.js';
import { untilInterrupted } from '../exit.js';
import type { Terminal } from '../terminal.js';
import { cut, widthOf } from './text.js';

const HOME = '\u001b[H';
const CLEAR_SCREEN = '\u001b[2J';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

/** The colours that we put there ourselves; kept by String.split because of the group. */
const COLOUR = /(\u001b\[[0-9;]*m)/;

/** How a command shows its result. */
export interface Showing {
  readonly watch: boolean;
  /** Milliseconds between two looks. */
  readonly intervalMs: number;
  /** Whether frames are for programs: then they are appended even on a terminal. */
  readonly isForPrograms: boolean;
}

/**
 * Writes a frame; with `watch` again and again until Ctrl-C, which is the normal end. On a terminal each frame takes the place of
 * the one before. Once a frame was shown, the command waits for a daemon that goes away.
 *
 * @param frame lines, each with its line break
 * @throws the error of the first frame
 */
export async function show(terminal: Terminal, showing: Showing, frame: () => Promise<string>): Promise<void> {
  if (!showing.watch) {
    terminal.write(await frame());
    return;
  }
  const signal = terminal.interruption();
  await untilInterrupted(signal, () => repeat(terminal, showing, frame, signal));
}

async function repeat(
  terminal: Terminal,
  showing: Showing,
  frame: () => Promise<string>,
  signal: AbortSignal,
): Promise<void> {
  const redraws = terminal.isTerminal && !showing.isForPrograms;
  for (let isFirst = true; ; isFirst = false) {
    const text = await frame().catch((failure: unknown) => {
      if (isFirst || !(failure instanceof Unreachable)) throw failure;
      return redraws ? `${failure.message}\n` : complain(terminal, failure);
    });
    if (redraws) terminal.write((isFirst ? CLEAR_SCREEN : '') + screen(terminal, text));
    else terminal.write(isFirst || showing.isForPrograms || text === '' ? text : `\n${text}`);
    await pause(showing.intervalMs, undefined, { signal });
  }
}

function complain(terminal: Terminal, failure: Error): string {
  terminal.complain(failure.message);
  return '';
}

/** A frame that starts at the top, leaves nothing of the one before, and never scrolls. */
function screen(terminal: Terminal, text: string): string {
  const { columns, rows } = terminal.size();
  const lines = text.trimEnd().split('\n');
  const room = Math.max(rows - 1, 2);
  const shown = lines.length <= room ? lines : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`];
  return HOME + shown.map((line) => `${fitted(line, columns)}${CLEAR_LINE}\n`).join('') + CLEAR_BELOW;
}

/** Cuts a line and keeps its colours: they end where they would have. */
function fitted(line: string, columns: number): string {
  let room = columns;
  return line
    .split(COLOUR)
    .map((part, index) => {
      if (index % 2 === 1) return part;
      const kept = room > 0 ? cut(part, room) : '';
      room = kept === part ? room - widthOf(part) : 0;
      return kept;
    })
    .join('');
}
