// `plugin-broker demo`: shows the broker at work, and prints only what it observed.
import type { Paint } from '../cli/output/tones.js';
import { toneOfState } from '../cli/output/tones.js';
import { table } from '../cli/output/table.js';
import { asError } from '../kernel/clock.js';
import type { StatusView } from '../model/views.js';
import { systemClock } from '../platform/time/system-clock.js';
import { stayAwake } from '../platform/time/stay-awake.js';
import { Stage } from './stage.js';
import { tellStory, type Screen } from './story.js';

/** The outputs of the demo. */
export interface DemoOutput {
  readonly write: (text: string) => void;
  readonly paint: Paint;
  /** Ends the demo early; everything it started ends with it. */
  readonly signal: AbortSignal;
}

/**
 * Runs the demo.
 *
 * @param program the file that runs `serve` and `sim`
 * @returns 0 only when all it claims was seen
 */
export async function runDemo(program: string, { write, paint, signal }: DemoOutput): Promise<number> {
  const release = stayAwake();
  const startedAt = systemClock.mono();
  let stage: Stage | undefined;
  try {
    stage = new Stage(program, systemClock);
    const stopped = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
    });
    await Promise.race([tellStory(stage, screenOn(write, paint), systemClock), stopped]);
    const seconds = ((systemClock.mono() - startedAt) / 1000).toFixed(1);
    write(`\n${paint('good', 'All of it was seen.')} It took ${seconds} s.\n`);
    return 0;
  } catch (failure) {
    if (signal.aborted) {
      write('\nThe demo was interrupted.\n');
      throw signal.reason;
    }
    const { message, cause } = asError(failure);
    write(`\n${paint('bad', 'The demo failed:')} ${message}\n`);
    if (cause !== undefined) write(`${asError(cause).message}\n`);
    if (stage !== undefined && stage.lastWords !== '') write(`The broker said last:\n${stage.lastWords}`);
    return 1;
  } finally {
    await stage?.close();
    release();
  }
}

function screenOn(write: (text: string) => void, paint: Paint): Screen {
  return {
    heading: (text) => write(`\n${paint('bold', text)}\n`),
    seen: (text) => write(`  ${paint('good', '✔')} ${text}\n`),
    picture: ({ resources }: StatusView) => {
      const text = table(
        [
          { title: 'RESOURCE', of: ({ name }) => name },
          { title: 'STATE', of: ({ state }) => state, tone: ({ state }) => toneOfState(state) },
          { title: 'CAPACITY', of: ({ capacity }) => capacity },
          { title: 'ALLOCATABLE', of: ({ allocatable }) => allocatable },
        ],
        resources,
        paint,
      );
      write(
        text
          .trimEnd()
          .split('\n')
          .map((line) => `    ${line}\n`)
          .join(''),
      );
    },
  };
}
