import type { ConnectionEndCode } from '../../../src/model/connection-ends.js';
import { encodeFrame, FLAG, FRAME } from '../../../src/platform/http2/frames.js';
import { answerHeaders, earlyHints, type ServedConnection } from './hostile-plugin.js';
import { message, number32, settings } from './raw-peer.js';

const MIB = 1024 * 1024;
const NONE = Buffer.alloc(0);

/** The deed of a server instead of an answer. */
export interface AnswerAttack {
  readonly what: string;
  /** With which its connection ends. */
  readonly code: ConnectionEndCode;
  /** Attacks until it is cut off or has done its worst. */
  readonly run: (connection: ServedConnection, stream: number) => Promise<void>;
}

/** Those that exceed the budgets of a connection that we open, those of tests and `DEFAULT_GUARD`. */
export const ANSWER_ATTACKS: readonly AnswerAttack[] = [
  {
    what: '103 header blocks without an end',
    code: 'HEADERS_FLOOD',
    run: (connection, stream) => connection.flood(earlyHints(stream), 20_000),
  },
  {
    what: 'WINDOW_UPDATE frames without an end',
    code: 'WINDOW_GAME',
    run: (connection) => connection.flood(encodeFrame(FRAME.WINDOW_UPDATE, 0, 0, number32(1)), 20_000),
  },
  {
    what: 'PUSH_PROMISE',
    code: 'PROTOCOL',
    run: (connection, stream) => {
      const promise = Buffer.concat([number32(2), Buffer.from([0x82])]);
      return connection.flood(encodeFrame(FRAME.PUSH_PROMISE, FLAG.END_HEADERS, stream, promise), 20_000);
    },
  },
  {
    what: 'SETTINGS without an end',
    code: 'SETTINGS_FLOOD',
    run: (connection) => connection.flood(settings(), 20_000),
  },
  {
    what: 'PING without an end',
    code: 'PING_FLOOD',
    run: (connection) => connection.flood(encodeFrame(FRAME.PING, 0, 0, Buffer.alloc(8)), 20_000),
  },
  {
    what: 'DATA frames without content',
    code: 'EMPTY_FRAMES',
    run: (connection, stream) => {
      connection.write(answerHeaders(stream));
      return connection.flood(encodeFrame(FRAME.DATA, 0, stream, NONE), 20_000);
    },
  },
  {
    what: 'padded DATA frames of one octet',
    code: 'EMPTY_FRAMES',
    run: (connection, stream) => {
      connection.write(
        answerHeaders(stream),
        encodeFrame(FRAME.DATA, 0, stream, message(Buffer.alloc(MIB)).subarray(0, 5)),
      );
      return connection.flood(encodeFrame(FRAME.DATA, FLAG.PADDED, stream, Buffer.alloc(257, 255)), 1_000);
    },
  },
  {
    what: 'a message in DATA frames of one octet',
    code: 'FRAME_FLOOD',
    run: (connection, stream) => {
      const begun = message(Buffer.alloc(MIB)).subarray(0, 5);
      connection.write(answerHeaders(stream), encodeFrame(FRAME.DATA, 0, stream, begun));
      return connection.flood(encodeFrame(FRAME.DATA, 0, stream, Buffer.alloc(1)), 30_000);
    },
  },
  {
    what: 'a header block in many parts',
    code: 'CONTINUATION_FLOOD',
    run: async (connection, stream) => {
      connection.write(encodeFrame(FRAME.HEADERS, 0, stream, NONE));
      await connection.flood(encodeFrame(FRAME.CONTINUATION, 0, stream, NONE), 200);
    },
  },
  {
    what: 'a header block that is too large',
    code: 'CONTINUATION_FLOOD',
    run: (connection, stream) => {
      connection.write(encodeFrame(FRAME.HEADERS, 0, stream, Buffer.alloc(16_000)));
      return connection.flood(encodeFrame(FRAME.CONTINUATION, 0, stream, Buffer.alloc(16_000)), 200);
    },
  },
  {
    what: 'frames of no known type',
    code: 'FRAME_FLOOD',
    run: (connection) => connection.flood(encodeFrame(0x77, 0, 0, NONE), 20_000),
  },
  {
    what: 'resets of calls that nobody made',
    code: 'RAPID_RESET',
    run: (connection) => connection.flood(encodeFrame(FRAME.RST_STREAM, 0, 99, number32(8)), 20_000),
  },
];
