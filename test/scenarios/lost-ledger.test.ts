import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { AllocClient, refusalOf } from '../support/alloc-client.js';
import { BrokerProcess } from '../support/broker-process.js';
import { eventually } from '../support/eventually.js';
import { FakePlugin, healthy } from '../support/fake-plugin.js';
import { inNewerFormat } from '../support/newer-format.js';
import { run, type Ended } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';

const GPU = 'vendor.com/gpu';

const ending: (() => unknown)[] = [];
after(async () => {
  for (const end of ending.reverse()) await end();
});

/** A root whose broker was killed with two leases, of keys `first` (gpu-0) and `newest` (gpu-1), each with its CDI file. */
class Bed {
  readonly cdi = path.join(tempDir(), 'cdi');
  readonly broker = new BrokerProcess(tempDir(), { cdi: { dir: this.cdi }, restart: { wipeSockets: 'never' } });
  readonly client: AllocClient;
  readonly #plugin: FakePlugin;
  /** The checkpoint with `first` alone. */
  older = Buffer.alloc(0);

  private constructor() {
    const { devicePlugins, root } = this.broker;
    mkdirSync(devicePlugins, { recursive: true });
    const devices = healthy('gpu-0', 'gpu-1', 'gpu-2');
    this.#plugin = new FakePlugin({ socket: path.join(devicePlugins, 'gpu.sock'), resource: GPU, devices });
    this.client = new AllocClient(path.join(root, 'alloc.sock'));
    ending.push(
      () => this.#plugin.stop(),
      () => this.broker.close(),
      () => this.client.close(),
    );
  }

  static async killed(): Promise<Bed> {
    const bed = new Bed();
    await bed.#plugin.serve();
    await bed.start();
    assert.equal(await bed.ask('first'), 'given');
    bed.older = readFileSync(bed.file('checkpoint.json'));
    assert.equal(await bed.ask('newest'), 'given');
    await bed.broker.end('SIGKILL');
    return bed;
  }

  file(name: string): string {
    return path.join(this.broker.root, 'state', name);
  }

  cdiFiles(): readonly string[] {
    return readdirSync(this.cdi).sort();
  }

  /** Starts the broker, and has the plugin register, which may be forgotten. */
  async start(): Promise<void> {
    await this.broker.start();
    await this.#plugin.register(this.broker.kubeletSocket);
    await eventually('its plugin is back', async () => (await this.broker.allocatable(GPU)) === 3);
  }

  ask(key: string, ids: readonly string[] = []): Promise<string> {
    return refusalOf(this.client.one(GPU, { key, ids }));
  }

  reset(): Promise<Ended> {
    return run(['allocations', 'reset', '--root', this.broker.root]);
  }

  /** The state of the ledger, and how many leases it has. */
  async ledger(): Promise<readonly [state: string, leases: number]> {
    const { state, leases } = (await this.broker.status()).ledger;
    return [state, leases];
  }
}

void describe('a ledger that was lost with the checkpoint', () => {
  void it('without any generation is unknown: nothing is given out, over restarts, until allocations reset', async () => {
    const bed = await Bed.killed();
    const files = bed.cdiFiles();
    assert.equal(files.length, 2);
    for (const name of ['checkpoint.json', 'checkpoint.json.previous']) writeFileSync(bed.file(name), 'garbage');
    for (const life of ['the start after the loss', 'the next one']) {
      await bed.broker.end('SIGKILL');
      await bed.start();
      assert.deepEqual(await bed.ledger(), ['unknown', 0], life);
      assert.deepEqual([await bed.ask('k'), await bed.ask('k', ['gpu-2'])], ['LEDGER_UNKNOWN', 'LEDGER_UNKNOWN'], life);
      assert.deepEqual(bed.cdiFiles(), files, life);
    }
    const { code, stdout } = await bed.reset();
    assert.deepEqual([code, stdout], [0, 'the ledger was unknown; it begins anew, and devices are given out\n']);
    assert.deepEqual([await bed.ledger(), bed.cdiFiles()], [['ok', 0], []]);
    assert.equal(await bed.ask('k', ['gpu-0']), 'given');
    await bed.broker.end('SIGKILL');
    await bed.start();
    assert.deepEqual(await bed.ledger(), ['ok', 1]);
  });

  void it('in a newer format is left alone: nothing is given out, a reset is refused, and files stay', async () => {
    const bed = await Bed.killed();
    const files = bed.cdiFiles();
    const newer = inNewerFormat(readFileSync(bed.file('checkpoint.json')));
    writeFileSync(bed.file('checkpoint.json'), newer);
    await bed.start();
    const { checkpoint, ledger } = await bed.broker.status();
    assert.deepEqual([checkpoint.state, ledger.state], ['newer-format', 'unread']);
    assert.equal(await bed.ask('k'), 'LEDGER_UNKNOWN');
    const { code, stderr } = await bed.reset();
    assert.notEqual(code, 0);
    assert.match(stderr, /the checkpoint was not read, so that nothing can be written to it/);
    assert.equal(await bed.ask('k'), 'LEDGER_UNKNOWN');
    assert.deepEqual(bed.cdiFiles(), files);
    assert.deepEqual(readFileSync(bed.file('checkpoint.json')), newer);
  });

  void it('with the newest generation is stale: devices that a CDI file names are given to nobody until allocations reset', async () => {
    const bed = await Bed.killed();
    const files = bed.cdiFiles();
    writeFileSync(bed.file('checkpoint.json'), 'garbage');
    writeFileSync(bed.file('checkpoint.json.previous'), bed.older);
    for (const life of ['the start after the loss', 'the next one']) {
      await bed.broker.end('SIGKILL');
      await bed.start();
      assert.deepEqual(await bed.ledger(), ['stale', 2], life);
      assert.equal(await bed.ask('k', ['gpu-1']), 'DEVICE_TAKEN', life);
      assert.equal(await bed.ask('first'), 'given', life);
      const now = bed.cdiFiles();
      assert.ok(
        files.every((name) => now.includes(name)),
        life,
      );
    }
    assert.equal(await bed.ask('k', ['gpu-2']), 'given');
    const { code, stdout } = await bed.reset();
    assert.deepEqual([code, stdout], [0, 'the ledger was stale; it begins anew, and devices are given out\n']);
    assert.deepEqual([await bed.ledger(), bed.cdiFiles().length], [['ok', 2], 2]);
    assert.equal(await bed.ask('newest', ['gpu-1']), 'given');
  });
});
