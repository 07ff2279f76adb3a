import { Discovery } from '../../src/discovery/discovery.js';
import type { BelowDirectory, Unusable } from '../../src/discovery/ports.js';
import type { FoundSocket } from '../../src/model/plugin.js';
import { FakeClock } from './fake-clock.js';
import { FakeSockets } from './fake-sockets.js';

/** Discovery over a directory of a test, and what it told. */
export class DiscoveryBed {
  readonly clock = new FakeClock();
  readonly sockets = new FakeSockets();
  readonly told: string[] = [];
  readonly found: FoundSocket[] = [];
  looked = 0;
  maxSockets = 8192;
  owner = (_path: string): number => 0;
  readonly full: (string | undefined)[] = [];
  /** Paths that cannot be used. */
  readonly unusable = new Map<string, Unusable>();
  /** The answers to looks at paths that are no sockets. */
  readonly below = new Map<string, BelowDirectory>();
  expected: readonly string[] = [];
  /** The directory does not answer. */
  isSilent = false;
  /** How often a path was looked at, and how long each look takes. */
  looks = 0;
  lookMs = 0;
  readonly discovery: Discovery;

  constructor() {
    const { sockets, told } = this;
    const isHidden = (path: string): boolean => path.split('/').some((part) => part.startsWith('.'));
    this.discovery = new Discovery(
      {
        list: () => sockets.paths().filter((path) => !isHidden(path)),
        expected: () => this.expected,
        follow: (path) => this.below.get(path) ?? { isOther: false },
        pin: (path) => this.unusable.get(path) ?? sockets.open(path),
        keyAt: (path, known) => {
          this.looks += 1;
          return this.isSilent ? known : sockets.keyAt(path);
        },
        ownerOf: (path, known = -1) => (this.isSilent ? known : this.owner(path)),
        isHidden,
        topOf: (path) => path.split('/')[2] ?? path,
      },
      {
        appeared: (found) => {
          const { path, incarnation } = found.socket;
          this.found.push(found);
          told.push(`+${path}#${incarnation.ino}`);
        },
        gone: ({ path, incarnation }, next) => void told.push(`-${path}#${incarnation.ino}${next ? ' replaced' : ''}`),
        renamed: ({ socket: { path, incarnation } }, next) =>
          void told.push(`>${path}#${incarnation.ino}${next ? ' replaced' : ''}`),
        recorder: { refusedAt: (path, { code }, uid) => void told.push(`!${path} ${code} of ${String(uid)}`) },
        full: (why) => void this.full.push(why),
        looked: () => (this.looked += 1),
      },
      {
        wall: () => this.clock.wall(),
        mono: () => this.clock.mono() + this.looks * this.lookMs,
        alarm: (ms, ring) => this.clock.alarm(ms, ring),
      },
      () => ({ rescanMs: 10_000, maxSockets: this.maxSockets, isTrusted: (uid) => uid === 0 }),
    );
  }

  /** The news since the last question. */
  news(): string[] {
    return this.told.splice(0);
  }
}
