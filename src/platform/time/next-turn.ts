/** Resolves after the event loop has looked at its sockets and timers once: others have had their turn then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Resolves after so many turns. */
export async function nextTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

/** Makes a function that does its work once a turn for each argument: hundreds need it at one moment. A failure is not kept. */
export function onceATurn(work: (argument: string) => void): (argument: string) => void {
  const done = new Set<string>();
  return (argument) => {
    if (done.has(argument)) return;
    work(argument);
    if (done.size === 0) void nextTurn().then(() => done.clear());
    done.add(argument);
  };
}

/** Makes a function that resolves for one caller a turn, in the order they came: work that is short once is long forty times. */
export function oneATurn(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(nextTurn));
}

/** Answers need a few turns on their way through the layers of a connection; two were seen, this is plenty. */
const TURNS_OF_AN_ANSWER = 10;

/**
 * Resolves when answers that were given have been written. A gRPC server that was asked to shut down says on Node.js 24
 * that a session is closed while its last answer has yet to be written; ending the connection then loses the answer.
 */
export function answersLeave(): Promise<void> {
  return nextTurns(TURNS_OF_AN_ANSWER);
}
