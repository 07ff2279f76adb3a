import type { LeaseRow } from '../../src/model/page-views.js';
import { explain } from '../../src/admin/explain.js';
import { problem } from '../../src/model/answer.js';
import { Journal } from '../../src/journal/journal.js';
import { silentLog } from './silence.js';
import { troubledFirst } from '../../src/page/shown-devices.js';
import type { PageSource } from '../../src/page/ports.js';
import type { Stream } from '../../src/page/audience.js';
import type { Clock } from '../../src/kernel/clock.js';
import { FakeAdminPort } from './fake-admin-port.js';

/** A broker made of views that a test sets, with a journal of its own; it counts how often it is looked at. */
export class FakePageSource implements PageSource {
  readonly port = new FakeAdminPort();
  readonly journal: Journal;
  readonly place = {
    host: 'node-7',
    root: '/run/pb',
    state: '/run/pb/state',
    address: '',
    devicePlugins: '/run/pb/device-plugins',
    registry: '/run/pb/plugins_registry',
    isOpen: false,
  };
  leaseList: LeaseRow[] = [];
  headList: ReturnType<PageSource['head']>;
  looks = 0;

  constructor(clock: Clock) {
    const file = {
      readTail: async () => undefined,
      room: async () => undefined,
      append: async () => undefined,
      replace: async () => undefined,
    };
    this.journal = new Journal({ file, clock, log: silentLog, ownUid: 0, userOf: (uid) => uid });
    const { broker, checkpoint, policy, ledger, refused } = this.port.status();
    this.headList = { broker, checkpoint, policy, ledger, refused };
  }

  seq = (): number => this.journal.seq;
  head = () => this.headList;
  plugins = () => {
    this.looks += 1;
    return this.port.pluginList;
  };
  keptUntil = () => undefined;
  resources = () => this.port.resourceList;
  devices = (resource: string) => {
    const found = this.port.resourceList.find(({ name }) => name === resource);
    if (found === undefined) return undefined;
    const sorted = troubledFirst(found.devices);
    const slice = (from: number, to: number) =>
      sorted.slice(from, to).map((device) => ({ ...device, lease: '', owner: '' }));
    return Promise.resolve({ total: sorted.length, slice });
  };
  limits = () => this.port.limitList;
  leases = () => this.leaseList;
  timeline = (plugin: string) => this.journal.lastOf(plugin);
  recent = () => this.journal.recent();
  lives = () => this.journal.lives();
  events = (query: { since: number; plugin: string; follow: boolean }, signal: AbortSignal) =>
    this.journal.events(query, signal);
  explain = () => Promise.resolve(problem('NOT_FOUND', 'nobody'));
  why = explain;
}

/** A reader that keeps what it was told. */
export class FakeStream implements Stream {
  text = '';
  unread = 0;
  isEnded = false;
  isDestroyed = false;
  write = (bytes: Buffer): void => void (this.text += bytes.toString());
  end = (): void => void (this.isEnded = true);
  destroy = (): void => void (this.isDestroyed = true);

  /** The messages so far, with their names. */
  get messages(): { readonly event: string; readonly data: Record<string, unknown> }[] {
    return [...this.text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, event = '', data = '']) => ({
      event,
      data: JSON.parse(data) as Record<string, unknown>,
    }));
  }
}
