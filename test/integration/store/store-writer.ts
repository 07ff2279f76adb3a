// A process that changes the checkpoint as fast as it can and says on stdout what is durable, until it is killed:
// node store-writer.js FOLDER ROUND
import { entryKey } from '../../../src/checkpoint/document.js';
import { nodeFiles } from '../../../src/platform/store/node-files.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { stayAwake } from '../../../src/platform/time/stay-awake.js';
import { checkpointRig, facts, list } from '../../support/checkpoint-rig.js';

const [folder = '', round = '0'] = process.argv.slice(2);
stayAwake();
const { store } = checkpointRig(nodeFiles, folder, systemClock, {
  settings: { writeDeadlineMs: 60_000, listIntervalMs: 1, inlineListBytes: 1024 },
});

function say(word: string, name: string): void {
  process.stdout.write(`${word} ${name}\n`);
}

const { view } = await store.open();
say('opened', view.state);
for (let turn = 0; ; turn += 1) {
  const names = Array.from({ length: 1 + (turn % 4) }, (_, index) => `r${round}.t${turn}/n${index}`);
  await Promise.all(
    names.map(async (name, life) => {
      const plugin = facts(name, life);
      say('began', name);
      await store.update((draft) => draft.put(plugin));
      say('put', name);
      store.updateSoon(name, (draft) => draft.setList(entryKey(plugin), list(turn % 2 === 0 ? 100 : 3000, turn % 250)));
      if (turn % 5 !== 4) return;
      say('leaving', name);
      await store.update((draft) => draft.remove(entryKey(plugin)));
      say('left', name);
    }),
  );
}
