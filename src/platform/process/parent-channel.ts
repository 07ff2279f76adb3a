// The line to the process that started this one with Node's own channel (node:child_process, stdio `ipc`).

/** Messages both ways, as JSON. */
export interface ParentChannel {
  /** Never throws; a message that cannot be sent any more is dropped. @param left is called when it has left, or was dropped */
  send(message: object, left?: () => void): void;
  /** Hands over each message from now on. Resolves when the first one was handed over. */
  listen(onMessage: (message: unknown) => void): Promise<void>;
}

/**
 * The line to our parent. When the parent is gone this process gets a SIGTERM, as for an ordinary stop.
 *
 * @throws Error when there is no such line
 */
export function parentChannel(): ParentChannel {
  if (process.send === undefined) throw new Error('no channel to a parent process');
  const leave = (): void => void process.kill(process.pid, 'SIGTERM');
  // It may have gone before we listened.
  if (process.connected) process.once('disconnect', leave);
  else leave();
  return {
    send: (message, left) => {
      if (process.connected) process.send?.(message, undefined, undefined, () => left?.());
      else left?.();
    },
    listen: (onMessage) =>
      new Promise((resolve) => {
        process.on('message', (message) => {
          onMessage(message);
          resolve();
        });
      }),
  };
}
