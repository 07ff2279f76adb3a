/**
 * Has the failure of an HTTP/2 session forget the frames of its stack. Until its stack is read for the first time an Error keeps
 * the frames, here with Node's native session among them. That keeps the SETTINGS that its peer has not acknowledged, these are
 * never collected before it, and lead back to the session and to all that listens to it: where one of those has the failure, the
 * connection would be in memory for ever, 30 KB and more. Call it for each session that may fail.
 */
export function forgetFrames(failure: Error): void {
  Reflect.get(failure, 'stack');
}
