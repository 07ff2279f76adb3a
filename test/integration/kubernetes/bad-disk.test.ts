// The disk below the ledger of published CSI drivers keeps none from being published.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { NodeInfoPublisher } from '../../../src/csi/node-info-publisher.js';
import { ApiClient } from '../../../src/platform/kubernetes/api-client.js';
import { ApiTarget } from '../../../src/platform/kubernetes/api-target.js';
import { Ledger } from '../../../src/platform/kubernetes/ledger.js';
import { systemClock } from '../../../src/platform/time/system-clock.js';
import { ApiServer } from '../../support/api-server.js';
import { eventually } from '../../support/eventually.js';
import { silentLog } from '../../support/silence.js';
import { tempDir } from '../../support/temp-dir.js';

const NODE = 'worker-1';
const IN_TIME = { timeout: 20_000 };

/** A ledger whose disk is as `disk` is. */
class BadLedger extends Ledger {
  begun = 0;
  readonly #disk: () => Promise<never>;
  constructor(disk: () => Promise<never>) {
    super('/nowhere', NODE);
    this.#disk = disk;
  }
  override drivers(): Promise<ReadonlySet<string>> {
    this.begun += 1;
    return this.#disk();
  }
}

describe('publishing to the API server beside a bad disk', () => {
  let server: ApiServer;
  let folder: string;
  let publisher: NodeInfoPublisher | undefined;

  beforeEach(async () => {
    folder = tempDir();
    server = new ApiServer();
    await server.listen();
    server.addNode(NODE);
    writeFileSync(path.join(folder, 'kubeconfig'), server.kubeconfig());
  });
  afterEach(async () => {
    // Its end would wait for a disk that does not answer.
    void publisher?.stop();
    await server.close();
  });

  function open(ledger: Ledger): NodeInfoPublisher {
    const client = new ApiClient({ kubeconfig: path.join(folder, 'kubeconfig'), clock: systemClock });
    const target = new ApiTarget({ client, ledger, nodeName: NODE, clock: systemClock, log: silentLog });
    publisher = new NodeInfoPublisher({ target, clock: systemClock, random: { next: () => 0.001 }, log: silentLog });
    return publisher;
  }
  const drivers = (): unknown => server.csiNode(NODE)?.spec?.drivers?.map(({ name }) => name);
  const info = { driver: 'a.csi', nodeId: 'n1', topology: [] };

  const things: Readonly<Record<string, (file: string) => void>> = {
    FIFO: (file) => execFileSync('mkfifo', [file]),
    directory: (file) => mkdirSync(path.join(file, 'full'), { recursive: true }),
  };
  for (const [kind, make] of Object.entries(things)) {
    it(`is done, and the ledger written, although a ${kind} has its names`, IN_TIME, async () => {
      const file = path.join(folder, 'csi-published.json');
      make(file);
      make(`${file}.new`);
      const one = open(new Ledger(file, NODE));
      one.settle(0);
      one.publish(info);
      await eventually('done', () => one.conditionOf('a.csi')?.state === 'published' && one.isDone);
      assert.deepEqual(drivers(), ['a.csi']);
      assert.match(readFileSync(file, 'utf8'), /a\.csi/);
    });
  }

  it('is done and undone although the disk never answers, and asks it once', IN_TIME, async () => {
    const ledger = new BadLedger(() => new Promise(() => undefined));
    const one = open(ledger);
    one.publish(info);
    await eventually('published', () => one.conditionOf('a.csi')?.state === 'published');
    one.settle(0);
    one.unpublish('a.csi');
    await eventually('taken back', () => one.isDone && one.problem === '');
    assert.deepEqual(drivers(), []);
    assert.equal(ledger.begun, 1, 'each would hold a thread');
  });

  /** Applies to the API server. @returns after how many milliseconds it is to be done again */
  function applying(ledger: Ledger): {
    readonly target: ApiTarget;
    readonly apply: (drivers: readonly string[], unwanted?: readonly string[]) => Promise<number | undefined>;
  } {
    const client = new ApiClient({ kubeconfig: path.join(folder, 'kubeconfig'), clock: systemClock });
    const target = new ApiTarget({ client, ledger, nodeName: NODE, clock: systemClock, log: silentLog });
    const apply = async (names: readonly string[], unwanted: readonly string[] = []): Promise<number | undefined> => {
      const wanted = new Map(names.map((driver) => [driver, { ...info, driver }]));
      const outcome = await target.apply(wanted, new Set(unwanted), new AbortController().signal);
      return outcome.ok ? outcome.againAfterMs : -1;
    };
    return { target, apply };
  }
  const written = (file: string): unknown => (JSON.parse(readFileSync(file, 'utf8')) as { drivers: unknown }).drivers;

  it('has what it could not write written later, without a change of drivers', IN_TIME, async () => {
    const file = path.join(folder, 'later', 'csi-published.json');
    const { target, apply } = applying(new Ledger(file, NODE));
    assert.equal(await apply(['a.csi', 'b.csi']), 60_000);
    assert.equal(await apply(['a.csi'], ['b.csi']), 60_000);
    assert.deepEqual(await target.known(), ['a.csi']);
    mkdirSync(path.dirname(file));
    assert.equal(await apply(['a.csi']), undefined);
    assert.deepEqual(written(file), ['a.csi']);
  });

  it('has a driver that was taken back while the disk hung written as such', IN_TIME, async () => {
    const file = path.join(folder, 'csi-published.json');
    let answer = (): void => undefined;
    const hung = new Promise<void>((resolve) => (answer = resolve));
    class Hanging extends Ledger {
      override async drivers(): Promise<ReadonlySet<string>> {
        await hung;
        return super.drivers();
      }
    }
    const { apply } = applying(new Hanging(file, NODE));
    assert.equal(await apply(['a.csi', 'b.csi']), 60_000);
    assert.equal(await apply(['a.csi'], ['b.csi']), 60_000);
    answer();
    await eventually('written', async () => (await apply(['a.csi'])) === undefined);
    assert.deepEqual(written(file), ['a.csi']);
  });

  it('is done although the disk answers with errors also when it is time to sweep', IN_TIME, async () => {
    const ledger = new BadLedger(() => Promise.reject(new Error('EIO: i/o error, read')));
    const one = open(ledger);
    one.settle(0);
    await eventually('the sweep asks it', () => ledger.begun > 0);
    one.publish(info);
    await eventually('published', () => one.conditionOf('a.csi')?.state === 'published');
    assert.deepEqual(drivers(), ['a.csi']);
  });
});
