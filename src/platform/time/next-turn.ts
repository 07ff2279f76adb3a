/** Resolves after the event loop has looked at its sockets and timers once: others have had their turn then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
