// The log as a port: an event name, fields, and one sentence for the operator.

/** Values that may stand in a log line. */
export type LogValue = string | number | boolean | undefined | readonly string[];

/** Named facts of a log line. Strings chosen by plugins are escaped and cut by the adapter. */
export type LogFields = Readonly<Record<string, LogValue>>;

/**
 * error: a person should act. warn: we coped. info: life cycle and verdicts. debug: the rest. `openLog` (platform/log/pino-log)
 * makes it. `event` is a stable `stage.thing-done` name; `message` is one sentence: the plugin, the fact, the next step.
 */
export interface Log {
  error(event: string, message: string, fields?: LogFields): void;
  warn(event: string, message: string, fields?: LogFields): void;
  info(event: string, message: string, fields?: LogFields): void;
  debug(event: string, message: string, fields?: LogFields): void;
}
