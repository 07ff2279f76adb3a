// The closed table of reasons for which the border ends a connection (docs/specification.md#the-border-of-a-socket). Each code is
// stable, is logged once per peer, counted, shown in events, and has its remedy.

/** The row of one code. */
export interface ConnectionEndSpec {
  /** Its meaning, in one line. */
  readonly about: string;
  /** The remedy for the operator or the plugin's author. */
  readonly remedy: string;
}

const end = (about: string, remedy: string): ConnectionEndSpec => ({ about, remedy });
const FLOOD = 'Find the process by uid and pid in the log; a well-behaved gRPC library does not do this.';

/** Why the border ended a connection that its peer would have kept. */
export const CONNECTION_ENDS = {
  PROTOCOL: end(
    'The peer does not speak HTTP/2 as RFC 9113 and RFC 7541 define it.',
    'Look which program connects; only gRPC clients belong on this socket.',
  ),
  HEADER_BOMB: end(
    'One header block exceeds guard.headerBytes.',
    `${FLOOD} Raise guard.headerBytes for large metadata.`,
  ),
  CONTINUATION_FLOOD: end('One header block has more parts than guard.continuations.', FLOOD),
  SETTINGS_FLOOD: end('The peer sent more SETTINGS frames than guard.settings.', FLOOD),
  PING_FLOOD: end(
    'The peer sent more PING frames than guard.pings and its work allow.',
    `${FLOOD} Lengthen its keepalive.`,
  ),
  RAPID_RESET: end('The peer opens calls and resets them at once, more than guard.resets allows.', FLOOD),
  MADE_YOU_RESET: end('The peer makes the server reset calls, more than guard.resets allows.', FLOOD),
  EMPTY_FRAMES: end(
    'The peer sent more frames without content or with padding, or more messages beyond the first of a call, than guard.emptyFrames.',
    FLOOD,
  ),
  PRIORITY_FLOOD: end('The peer sent more PRIORITY frames than guard.priorities allows.', FLOOD),
  HEADERS_FLOOD: end(
    'The peer sent header blocks that belong to no call, or more informational ones (1xx) than guard.informational allows.',
    FLOOD,
  ),
  WINDOW_GAME: end(
    'The peer keeps its flow-control windows shut, or floods with WINDOW_UPDATE frames.',
    'Look whether the peer hangs; its gRPC library must take the answers it asked for.',
  ),
  FRAME_FLOOD: end(
    'The peer sent more frames, or KiB in frames of no call, than guard.frames and its work allow.',
    FLOOD,
  ),
  CALL_FLOOD: end(
    'The peer opened far more calls at once than it was told it may, or began requests of 256 KiB in all, or all of its user 8 MiB, and completed none.',
    FLOOD,
  ),
  SLOW_PREFACE: end(
    'The peer connected and did not begin to speak within guard.preface.',
    'Look whether the peer is stopped or starved of CPU.',
  ),
  SLOW_HEADERS: end('The peer began a header block and did not end it within guard.headers.', FLOOD),
  HALF_OPEN_CALL: end(
    'A call whose request was not complete within guard.halfOpen, or that long after the end of its answer.',
    'Look whether the peer is stopped; the calls of this service send one message and end.',
  ),
  HALF_CLOSED: end(
    'One direction of the connection was closed and the other not within guard.halfClosed.',
    'Look whether the peer is stopped.',
  ),
  UNREAD_BYTES: end(
    'The peer did not read its answers within guard.unread, or ordinary users left too much of what alloc.sock answered unread.',
    'Look whether the peer is stopped or hangs.',
  ),
  IDLE: end('No call was open for guard.idle.', 'Nothing to do: a gRPC client connects again when it needs to.'),
  CUT_OFF_AGAIN: end(
    'Connections of the process were cut off one after the other; its next ones are read in turns, and no more may wait.',
    'Find the process by uid and pid in the log, and the code of what it was cut off for before.',
  ),
  CONNECTION_FLOOD: end(
    'The process opens connections more often than flood.connections allows, or all processes of an ordinary user together more often than one user may.',
    'Find the process, or the user, by uid and pid in the event; keep one connection instead of one for each call.',
  ),
  CONNECTIONS_PER_PROCESS: end(
    'The process holds as many connections as flood.connections.perProcess allows.',
    'Look whether it leaks connections, or raise flood.connections.perProcess.',
  ),
  CONNECTIONS_TOTAL: end(
    'As many connections are open as flood.connections.total allows.',
    'Look in `plugin-broker limits` which processes hold them, or raise flood.connections.total.',
  ),
  GAVE_WAY: end(
    'No further connection could be taken; an idle one of the largest holder, or one of an ordinary user that has more than half of all, gave way to one of another process.',
    'Find the process by uid and pid in the event, and why it holds so many connections.',
  ),
  TOO_OLD: end(
    'The connection reached guard.age and was asked to finish its calls.',
    'Nothing to do: a gRPC client connects again by itself.',
  ),
} as const satisfies Record<string, ConnectionEndSpec>;

/** A code with which the border ends a connection. */
export type ConnectionEndCode = keyof typeof CONNECTION_ENDS;

/** The end of a connection that the border, or the limit of unread answers, ended. */
export interface ConnectionEnd {
  readonly code: ConnectionEndCode;
  /** One sentence with the figures, no trailing period. */
  readonly message: string;
}
