import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { DeviceLists } from '../../../src/checkpoint/device-lists.js';
import { emptyDocument, entryKey, type PluginEntry, type StoredList } from '../../../src/checkpoint/document.js';
import type { ListFiles } from '../../../src/checkpoint/ports.js';
import { facts, list } from '../../support/checkpoint-rig.js';

const [gpu, nic, fpga] = [facts('a.b/gpu', 1), facts('a.b/nic', 2), facts('a.b/fpga', 3)];
const document = emptyDocument('b');

/** List files in memory, and names that something else has (`foreign`); `removing` is called before each removal, `isNew` says whether a write has to make the folder. */
function bench(
  removing: () => void = () => undefined,
  isNew = (): boolean => false,
): {
  readonly lists: DeviceLists;
  readonly files: Map<string, Buffer>;
  readonly foreign: Set<string>;
} {
  const files = new Map<string, Buffer>();
  const foreign = new Set<string>();
  const port: ListFiles = {
    write: async (fresh) => {
      for (const [sha256, bytes] of fresh) {
        files.set(sha256, bytes);
        foreign.delete(sha256);
      }
      return isNew();
    },
    read: async (sha256) => files.get(sha256),
    entries: async () => [...files.keys()].map((name) => ({ name, isFile: !foreign.has(name) })),
    room: () => Promise.resolve(undefined),
    sizeOf: async (sha256) => files.get(sha256)?.length,
    remove: async (sha256) => {
      removing();
      files.delete(sha256);
    },
  };
  return { lists: new DeviceLists(port, 10), files, foreign };
}

function named(...items: readonly [typeof gpu, StoredList | undefined][]): Map<string, PluginEntry> {
  return new Map(
    items.map(([plugin, last]) => [
      entryKey(plugin),
      { ...plugin, bootId: 'b', ...(last === undefined ? {} : { list: last }) },
    ]),
  );
}

describe('device lists', () => {
  it('are not removed when the checkpoint in memory names them already', async () => {
    const { lists, files } = bench();
    lists.offer(entryKey(gpu), list(100, 1));
    const [stored] = [...(await lists.writeSome(9, named([gpu, undefined]))).values()];
    await lists.committed(document, named([gpu, stored]));
    assert.equal(files.size, 1);
    await lists.committed(document, named([gpu, undefined]));
    assert.equal(files.size, 0);
  });

  it('for which there is no room stay so when others are written before them', async () => {
    const { lists } = bench();
    const plugins = named([gpu, undefined], [nic, undefined], [fpga, undefined]);
    const keys = [gpu, nic, fpga].map((plugin) => entryKey(plugin)) as [string, string, string];
    for (const key of keys) lists.offer(key, list(20_000, keys.indexOf(key)));
    await lists.writeSome(1, plugins, 8192);
    assert.equal(lists.withoutRoom, 3);
    lists.offer(keys[0], list(100, 4));
    lists.offer(keys[1], list(100, 5));
    await lists.writeSome(1, plugins, 16_384);
    assert.deepEqual([lists.waiting, lists.withoutRoom, lists.areWaiting], [2, 1, true]);
    await lists.writeSome(1, named([gpu, undefined], [nic, undefined]), 8192);
    assert.deepEqual([lists.waiting, lists.withoutRoom], [0, 0], 'nor of an entry that is no more');
  });

  it('of entries that are no more give way on a full disk, those of entries that are there do not', async () => {
    const { lists, files } = bench();
    const [first, second, newer] = [list(100, 1), list(100, 2), list(100, 3)];
    lists.offer(entryKey(gpu), first);
    lists.offer(entryKey(nic), second);
    const stored = await lists.writeSome(9, named([gpu, undefined], [nic, undefined]));
    const durable = named([gpu, stored.get(entryKey(gpu))], [nic, stored.get(entryKey(nic))]);
    // The disk takes no generation in which gpu has gone, and nic has a newer list.
    lists.offer(entryKey(nic), newer);
    const left = named([nic, stored.get(entryKey(nic))]);
    await lists.giveWay({ plugins: [...durable.values()], leases: [] }, left);
    assert.deepEqual([...files.keys()], [second.sha256]);
    assert.equal(lists.areWaiting, true);
  });

  it('for which the disk has no room wait, and let smaller ones pass', async () => {
    const { lists, files } = bench();
    const [large, small] = [list(20_000, 1), list(100, 2)];
    lists.offer(entryKey(gpu), large);
    lists.offer(entryKey(nic), small);
    const plugins = named([gpu, undefined], [nic, undefined]);
    await lists.writeSome(9, plugins, 8192);
    assert.deepEqual([...files.keys()], [small.sha256]);
    assert.deepEqual([lists.waiting, lists.withoutRoom, lists.areWaiting], [1, 1, false]);
    lists.offer(entryKey(gpu), list(30_000, 3));
    assert.equal(lists.areWaiting, true, 'a newer list may have room');
    lists.offer(entryKey(gpu), large);
    await lists.writeSome(9, plugins, 28_672);
    assert.deepEqual([lists.waiting, lists.withoutRoom, files.size], [0, 0, 2]);
  });

  it('that come back while another is removed stay', async () => {
    const plugins = named([gpu, undefined], [nic, undefined]);
    const second = list(100, 2);
    const { lists, files } = bench(() => {
      const stored = lists.offer(entryKey(nic), second);
      for (const [key, entry] of named([nic, stored])) plugins.set(key, entry);
    });
    lists.offer(entryKey(gpu), list(100, 1));
    lists.offer(entryKey(nic), second);
    await lists.writeSome(9, plugins);
    await lists.committed(document, plugins);
    assert.deepEqual([...files.keys()], [second.sha256]);
    assert.equal(lists.areWaiting, false);
  });

  it('that somebody removed are written again from memory, once, and tried again when the disk does not take them', async () => {
    const { lists, files } = bench();
    const [first, second] = [list(100, 1), list(100, 2)];
    lists.offer(entryKey(gpu), first);
    lists.offer(entryKey(nic), second);
    const stored = await lists.writeSome(9, named([gpu, undefined], [nic, undefined]));
    const plugins = named([gpu, stored.get(entryKey(gpu))], [nic, stored.get(entryKey(nic))]);
    files.delete(first.sha256);
    const put = files.set.bind(files);
    files.set = () => {
      throw new Error('the disk is full');
    };
    const newest = { holding: (key: string): typeof first => (key === entryKey(gpu) ? first : second) };
    await assert.rejects(lists.putBack(plugins, newest), /the disk is full/);
    const writes: string[] = [];
    files.set = (sha256, bytes) => {
      writes.push(sha256);
      return put(sha256, bytes);
    };
    await lists.putBack(plugins, newest);
    await lists.putBack(plugins, newest);
    assert.deepEqual(writes, [first.sha256]);
    assert.equal(files.get(first.sha256)?.equals(first.raw), true);
  });

  it('that somebody removed and nobody has in memory are not relied on when they come again', async () => {
    const { lists, files } = bench();
    lists.offer(entryKey(gpu), list(100, 1));
    const stored = await lists.writeSome(9, named([gpu, undefined]));
    files.clear();
    await lists.putBack(named([gpu, stored.get(entryKey(gpu))]), { holding: () => undefined });
    assert.equal(lists.offer(entryKey(gpu), list(100, 1)), undefined);
    assert.equal(lists.areWaiting, true);
  });

  it('in whose place is something else are written again from memory', async () => {
    const { lists, files, foreign } = bench();
    const held = list(100, 1);
    lists.offer(entryKey(gpu), held);
    const plugins = named([gpu, (await lists.writeSome(9, named([gpu, undefined]))).get(entryKey(gpu))]);
    const newest = { holding: () => held };
    await lists.putBack(plugins, newest);
    foreign.add(held.sha256); // a FIFO, say
    assert.deepEqual([...(await lists.missing(plugins))], [held.sha256]);
    await lists.putBack(plugins, newest);
    assert.deepEqual([foreign.size, (await lists.missing(plugins)).size], [0, 0]);
    assert.equal(files.get(held.sha256)?.equals(held.raw), true);
  });

  it('of another size than they were written with are written again, when it was looked at all of them in turns', async () => {
    const { lists, files } = bench();
    const many = Array.from({ length: 150 }, (_, at) => ({ plugin: facts(`a.b/r${at}`, at), held: list(100, at) }));
    for (const { plugin, held } of many) lists.offer(entryKey(plugin), held);
    const bare = named(...many.map(({ plugin }) => [plugin, undefined] as [typeof gpu, undefined]));
    const stored = await lists.writeSome(999, bare);
    const plugins = named(
      ...many.map(({ plugin }) => [plugin, stored.get(entryKey(plugin))] as [typeof gpu, StoredList]),
    );
    const answer = Buffer.from('an answer');
    await lists.write(new Map([['answer', answer]]));
    lists.others = new Map([['answer', { bytes: answer.length, make: () => answer }]]);
    const held = many[140]?.held ?? list(0, 0);
    files.set(held.sha256, Buffer.alloc(0));
    files.set('answer', Buffer.from('an'));
    const newest = { holding: (key: string) => many.find(({ plugin }) => entryKey(plugin) === key)?.held };
    assert.equal((await lists.missing(plugins)).size, 0);
    for (let turn = 0; turn < 3; turn++) await lists.lookAtSizes(plugins);
    assert.deepEqual([...(await lists.missing(plugins))].sort(), [held.sha256, 'answer'].sort());
    await lists.putBack(plugins, newest);
    assert.equal((await lists.missing(plugins)).size, 0);
    assert.equal(files.get(held.sha256)?.equals(held.raw), true);
    assert.equal(files.get('answer')?.equals(answer), true);
    files.set(held.sha256, Buffer.alloc(0));
    for (let turn = 0; turn < 3; turn++) await lists.lookAtSizes(plugins);
    assert.deepEqual([...(await lists.missing(plugins))], [held.sha256]);
  });

  it('of a folder that had to be made for another file are missed, and written again from memory', async () => {
    let isThere = true;
    const { lists, files } = bench(undefined, () => !isThere);
    lists.offer(entryKey(gpu), list(100, 1));
    const stored = await lists.writeSome(9, named([gpu, undefined]));
    const plugins = named([gpu, stored.get(entryKey(gpu))]);
    const newest = { holding: () => list(100, 1) };
    await lists.putBack(plugins, newest);
    assert.equal(lists.areKept, true);
    files.clear();
    isThere = false;
    await lists.write(new Map([['answer', Buffer.alloc(9)]]));
    isThere = true;
    assert.equal(lists.areKept, false);
    assert.deepEqual([...(await lists.missing(plugins))], [list(100, 1).sha256]);
    await lists.putBack(plugins, newest);
    assert.deepEqual([...files.keys()], ['answer', list(100, 1).sha256]);
  });

  it('that were found lying about are not relied on: a list that has such a name is written', async () => {
    const { lists, files } = bench();
    const wanted = list(100, 1);
    // More than one commit removes, so that the one that is wanted is still there.
    for (let at = 0; at < 64; at++) files.set(`stray-${at}`, Buffer.alloc(0));
    files.set(wanted.sha256, Buffer.from('cut off'));
    await lists.committed(document, named([gpu, undefined]));
    assert.deepEqual([...files.keys()], [wanted.sha256]);
    assert.equal(lists.offer(entryKey(gpu), wanted), undefined);
    await lists.writeSome(9, named([gpu, undefined]));
    assert.equal(files.get(wanted.sha256)?.equals(wanted.raw), true);
  });

  it('of plugins that are gone are not written', async () => {
    const { lists, files } = bench();
    lists.offer(entryKey(gpu), list(100, 1));
    assert.equal((await lists.writeSome(9, new Map())).size, 0);
    assert.deepEqual([files.size, lists.areWaiting], [0, false]);
  });

  it('are written a few at a time, and one that is very large alone', async () => {
    const { lists, files } = bench();
    const plugins = Array.from({ length: 5 }, (_, life) => facts(`a.b/r${life}`, life));
    const entries = named(...plugins.map((plugin) => [plugin, undefined] as [typeof gpu, undefined]));
    for (const [fill, plugin] of plugins.entries())
      lists.offer(entryKey(plugin), list(fill === 1 ? 5_000_000 : 100, fill));
    const sizes: number[] = [];
    while (lists.areWaiting) {
      await lists.writeSome(2, entries);
      sizes.push(files.size);
    }
    assert.deepEqual(sizes, [1, 2, 4, 5]);
  });

  it('that were replaced by a small one while they were written do not come back', async () => {
    const { lists } = bench();
    const plugins = named([gpu, undefined]);
    lists.offer(entryKey(gpu), list(100, 1));
    const writing = lists.writeSome(9, plugins);
    assert.ok(lists.offer(entryKey(gpu), list(5, 2))?.inline !== undefined);
    assert.equal((await writing).size, 0);
  });
});
