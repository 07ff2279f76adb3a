/** Longer than anything waits; it never does anything. */
const FAR_MS = 2 ** 30;

/** Keeps the process alive, which alarms do not, until the returned function is called. */
export function stayAwake(): () => void {
  const timer = setInterval(() => undefined, FAR_MS);
  return () => clearInterval(timer);
}
