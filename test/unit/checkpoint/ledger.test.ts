import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkpointRig, facts } from '../../support/checkpoint-rig.js';
import { FakeClock } from '../../support/fake-clock.js';
import { FakeDisk } from '../../support/fake-disk.js';
import { leaseRecord } from '../../support/lease-record.js';
import { inNewerFormat } from '../../support/newer-format.js';

const STATE = '/broker/state';
const FILE = `${STATE}/checkpoint.json`;
const BOOT = '6f1b0c9e-52c1-4a55-9d6f-0c1f3f1f8a11';
const OTHER_BOOT = '11111111-52c1-4a55-9d6f-0c1f3f1f8a11';

async function brokerDisk(): Promise<FakeDisk> {
  const disk = new FakeDisk();
  await disk.makeDirectory('/broker');
  await disk.makeDirectory(STATE);
  return disk;
}

/** A disk with two generations; the lease `b` is in the newest alone. */
async function usedDisk(bootId = BOOT): Promise<FakeDisk> {
  const disk = await brokerDisk();
  const { store } = checkpointRig(disk, STATE, new FakeClock(), { bootId });
  await store.open();
  await store.update((draft) => draft.putLease(leaseRecord('a', { bootId })));
  await store.update((draft) => draft.putLease(leaseRecord('b', { bootId })));
  return disk;
}

/** Spoils a file beyond its first lines. */
function spoil(disk: FakeDisk, file: string): void {
  const bytes = Buffer.from(disk.peek(file) ?? Buffer.alloc(0));
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 100) ^ 1, bytes.length - 100);
  disk.plant(file, bytes);
}

async function opened(disk: FakeDisk, bootId = BOOT) {
  const { store } = checkpointRig(disk, STATE, new FakeClock(), { bootId });
  return { store, ledger: (await store.open()).ledger };
}

describe('the ledger on the disk', () => {
  it('is ok and empty on a first start', async () => {
    const { store, ledger } = await opened(await brokerDisk());
    assert.deepEqual([ledger, store.contents.leases.size], ['ok', 0]);
  });

  it('gives back the leases that were recorded, and not those that were removed', async () => {
    const disk = await usedDisk();
    const { store, ledger } = await opened(disk);
    assert.equal(ledger, 'ok');
    assert.deepEqual(
      [...store.contents.leases.values()],
      [leaseRecord('a', { bootId: BOOT }), leaseRecord('b', { bootId: BOOT })],
    );
    assert.equal(await store.update((draft) => draft.removeLease('a')), 'durable');
    assert.deepEqual([...(await opened(disk)).store.contents.leases.keys()], ['b']);
  });

  it('gives back NUMA nodes as plugins say them: negative ones, and those of any size that a list may have', async () => {
    const numaNodes = [-1, 0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];
    const granted = [{ resource: 'vendor.com/gpu', devices: [{ id: 'gpu-0', numaNodes }] }];
    const disk = await usedDisk();
    const { store } = await opened(disk);
    assert.equal(await store.update((draft) => draft.putLease(leaseRecord('c', { bootId: BOOT, granted }))), 'durable');
    const next = await opened(disk);
    assert.deepEqual([next.ledger, next.store.contents.leases.get('c')?.granted], ['ok', granted]);
  });

  it('is not written with a lease that a start could not read, nor is anything else then, until the lease is gone', async () => {
    const disk = await usedDisk();
    const { store } = await opened(disk);
    assert.equal(
      await store.update((draft) => draft.putLease(leaseRecord('c', { bootId: BOOT, uid: -1 }))),
      'not-durable',
    );
    assert.match(
      store.view().reason,
      /a start could not read it: leases\.uid must be a whole number that is not negative, in \{"id":"c"/,
    );
    assert.deepEqual([...(await opened(disk)).store.contents.leases.keys()], ['a', 'b']);
    await store.update((draft) => draft.removeLease('c'));
    assert.equal(await store.flush(1000), 'durable');
    assert.equal(store.view().state, 'ok');
    assert.deepEqual([...(await opened(disk)).store.contents.leases.keys()], ['a', 'b']);
  });

  it('is stale when the previous generation has to be used, and stays so over further restarts until it is said to be ok', async () => {
    const disk = await usedDisk();
    spoil(disk, FILE);
    const first = await opened(disk);
    assert.deepEqual([first.ledger, [...first.store.contents.leases.keys()]], ['stale', ['a']]);
    await first.store.update((draft) => draft.put(facts('vendor.com/gpu')));
    const second = await opened(disk);
    assert.equal(second.ledger, 'stale');
    await second.store.update((draft) => draft.setLedger('ok'));
    assert.equal((await opened(disk)).ledger, 'ok');
  });

  it('is unknown when no generation is left, which is on the disk before anything else', async () => {
    const disk = await usedDisk();
    for (const file of [FILE, `${FILE}.previous`]) disk.plant(file, Buffer.alloc(100));
    const first = await opened(disk);
    assert.deepEqual([first.ledger, first.store.contents.leases.size], ['unknown', 0]);
    // The start after it finds a whole checkpoint, although nothing more was written.
    assert.equal((await opened(disk)).ledger, 'unknown');
  });

  it('is unknown after a start that was cut short before it could say so, wherever that was, and however often', async () => {
    /** A start on a disk without a usable generation, cut before its nth file operation. */
    const cutAt = async (disk: FakeDisk, nth: number): Promise<FakeDisk> => {
      disk.cutBefore(disk.operations.length + nth);
      void opened(disk);
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return disk.afterPowerCut(() => true);
    };
    let operations = 0;
    for (let nth = 1; nth <= Math.max(operations, 1); nth += 1) {
      for (const missing of [undefined, FILE, `${FILE}.previous`]) {
        const disk = await usedDisk();
        for (const file of [FILE, `${FILE}.previous`]) {
          if (file === missing) await disk.remove(file);
          else disk.plant(file, Buffer.alloc(100));
        }
        if (operations === 0) {
          const whole = disk.afterPowerCut(() => true);
          const before = whole.operations.length;
          await opened(whole);
          operations = whole.operations.length - before + 2;
        }
        const twice = await cutAt(await cutAt(disk, nth), nth);
        assert.equal((await opened(twice)).ledger, 'unknown', `cut before operation ${String(nth)}`);
      }
    }
    assert.ok(operations > 8, `${String(operations)} operations`);
  });

  it('is unknown after a start that found nothing usable on a full disk and was killed', async () => {
    const disk = await usedDisk();
    for (const file of [FILE, `${FILE}.previous`]) disk.plant(file, Buffer.alloc(100));
    disk.failAll('ENOSPC');
    assert.equal((await opened(disk)).ledger, 'unknown');
    disk.failAll(undefined);
    assert.equal((await opened(disk)).ledger, 'unknown');
  });

  it('is ok and empty when no generation is left and all of them were of another boot: owners of that time have ended', async () => {
    const disk = await usedDisk(OTHER_BOOT);
    for (const file of [FILE, `${FILE}.previous`]) spoil(disk, file);
    const { store, ledger } = await opened(disk);
    assert.deepEqual([ledger, store.contents.leases.size], ['ok', 0]);
  });

  it('is unknown when one of the lost generations was of this boot, or does not say of which', async () => {
    for (const previous of [undefined, Buffer.alloc(10)]) {
      const disk = await usedDisk(previous === undefined ? BOOT : OTHER_BOOT);
      for (const file of [FILE, `${FILE}.previous`]) spoil(disk, file);
      if (previous !== undefined) disk.plant(`${FILE}.previous`, previous);
      assert.equal((await opened(disk)).ledger, 'unknown');
    }
  });

  it('is not read when the checkpoint has a newer format', async () => {
    const disk = await usedDisk();
    disk.plant(FILE, inNewerFormat(disk.peek(FILE) ?? Buffer.alloc(0)));
    const { store, ledger } = await opened(disk);
    assert.deepEqual([ledger, store.mayWrite, store.contents.leases.size], ['unread', false, 0]);
  });
});
