import { nextTurn } from '../../src/platform/time/next-turn.js';

/** How many turns of the event loop others have while something is worked out, and what comes of it. */
export async function countTurns<T>(work: () => T | Promise<T>): Promise<{ readonly made: T; readonly turns: number }> {
  const state = { turns: 0, isDone: false };
  const counted = (async () => {
    for (; !state.isDone; state.turns += 1) await nextTurn();
  })();
  try {
    return { made: await work(), turns: state.turns };
  } finally {
    state.isDone = true;
    await counted;
  }
}
