// The observations of each scenario as files, for CI systems that keep them beside a job.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { logOf, type RunStory, type ScenarioStory } from './runs.js';

/** Files of one scenario, relative to the directory of artifacts; each is named after the process whose output it holds. */
const LOGS = { plugin: 'plugin.log', second: 'second-instance.log', broker: 'broker.log' } as const;

/**
 * Writes logs and moments of each scenario into a folder of its own.
 *
 * @returns the files of each scenario, as paths below the directory with the directory itself in front
 */
export function writeArtifacts(directory: string, { scenarios }: RunStory): ReadonlyMap<string, readonly string[]> {
  const written = new Map<string, readonly string[]>();
  for (const story of scenarios) {
    const files = filesOf(story);
    if (files.length === 0) continue;
    const folder = path.join(directory, story.name);
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of files) writeFileSync(path.join(folder, name), text);
    written.set(
      story.name,
      files.map(([name]) => path.join(folder, name)),
    );
  }
  return written;
}

function filesOf(story: ScenarioStory): readonly (readonly [string, string])[] {
  const logs = (['plugin', 'second', 'broker'] as const).flatMap((from) => {
    const text = logOf(story, from);
    return text === '' ? [] : [[LOGS[from], text] as const];
  });
  const moments = story.lines.filter(({ kind }) => kind !== 'log').map((line) => `${JSON.stringify(line)}\n`);
  return moments.length === 0 ? logs : [...logs, ['moments.jsonl', moments.join('')] as const];
}
