// The CDI file of each lease. It is derived: the ledger is the truth, and a file can always be written again. A directory
// that cannot be written costs the names, never a lease.
import { asError, type Clock } from '../kernel/clock.js';
import { Patience } from '../kernel/patience.js';
import { strangerUser, type UserFacts } from '../model/ids.js';
import type { CdiClaim, CdiResult, Lease } from '../model/lease.js';
import { cdiText, hostPathsOf, readCdiText } from './document.js';
import { deviceName, fileOf, leaseOf, writtenAs, writtenBy, type Origin } from './names.js';
import type { CdiDirectory, LookAtHost } from './ports.js';

/** How long the file of a lease may hold up its owner. */
const WRITE_MS = 2000;

/** The ports of the lease files. */
export interface LeaseFilePorts extends UserFacts {
  readonly directory: CdiDirectory;
  readonly look: LookAtHost;
  /** vendor/class of the names. */
  readonly kind: string;
  readonly origin: Origin;
  readonly clock: Clock;
  /** How much of a step's limit may be used, in milliseconds: StartBudget.leftMs (kernel/start-budget). Absent: all of it. */
  readonly leftMs?: (atMost: number) => number;
  /** The directory cannot be used (one sentence), or can again: Conditions.set (journal/conditions). */
  readonly degraded: (why: string | undefined) => void;
}

/** Writes, keeps and removes the files. */
export class LeaseFiles {
  readonly #ports: LeaseFilePorts;
  readonly #onDirectory: Patience;
  /** Kept apart from the directory: plugins choose which paths are looked at, and a slow path of ordinary users delays only theirs. */
  readonly #onHost: Patience;
  #hasLeftovers = false;
  /** Files of lives before could not be looked for. */
  #isLookOwed = false;

  constructor(ports: LeaseFilePorts) {
    this.#ports = ports;
    // While the directory is read for a reset, leases go on.
    this.#onDirectory = new Patience(ports.clock, WRITE_MS, 2);
    this.#onHost = new Patience(ports.clock, WRITE_MS);
  }

  /** A file whose lease is over could not be removed, or looked for: engines find its devices by its name until `reconcile` has removed it. */
  get hasLeftovers(): boolean {
    return this.#hasLeftovers || this.#isLookOwed;
  }

  /**
   * Writes the file of a lease. Gives its CDI name, or in one sentence why it has none. Never rejects.
   *
   * @param isRecorded the file has its name, by which engines find it, only once this gives true; on false there is none
   */
  async write(lease: Lease, isRecorded?: Promise<boolean>): Promise<CdiResult> {
    const { directory, origin } = this.#ports;
    const draft = writtenAs(lease.id, origin.root);
    try {
      const written = await this.#textOf(lease);
      if (written.ok) await this.#soon(() => directory.write(draft, written.text));
      if (!written.ok) {
        const problem = `the lease has no CDI name: ${written.problem}`;
        return written.reason === undefined ? { problem } : { problem, reason: written.reason };
      }
      if ((await isRecorded) === false) {
        await this.#soon(() => directory.remove(draft));
        return { problem: 'its record is not on the disk yet', reason: 'later' };
      }
      await this.#soon(() => directory.rename(draft, fileOf(lease.id)));
    } catch (failure) {
      return { problem: this.#cannot('written', failure), reason: 'later' };
    }
    if (!this.#hasLeftovers) this.#ports.degraded(undefined);
    return this.#named(lease);
  }

  /** Removes the file of a lease that is over. Never rejects. */
  async remove(leaseId: string): Promise<void> {
    try {
      await this.#soon(() => this.#ports.directory.remove(fileOf(leaseId)));
    } catch (failure) {
      this.#hasLeftovers = true;
      this.#cannot('removed', failure);
    }
  }

  /**
   * At a start, after a reset, and where a file could not be removed: files of live leases are as they must be, also where a link
   * leads elsewhere after a boot; files of this root whose lease is over go, if `mayRemove`. Files of others are not touched. Never rejects. A file of a lease of this
   * boot is whole and as it was written, because files come into place by rename: only its name is looked at, so that a
   * start with many leases need not read all of them.
   *
   * @param lives whether a lease is there, or being given, when it is called: some come meanwhile
   * @returns the CDI name of each lease, or why it has none
   */
  async reconcile(
    leases: readonly Lease[],
    mayRemove: boolean,
    lives: (leaseId: string) => boolean = () => false,
  ): Promise<ReadonlyMap<string, CdiResult>> {
    const { directory, origin } = this.#ports;
    const toPutRight: Lease[] = [];
    const results = new Map<string, CdiResult>();
    const [hadLeftovers, wasOwed] = [this.#hasLeftovers, this.#isLookOwed];
    if (mayRemove) [this.#hasLeftovers, this.#isLookOwed] = [false, false];
    try {
      await this.#soon(() => directory.prepare());
      const others = new Set(await this.#soon(() => directory.names()));
      for (const lease of leases) {
        const isThere = others.delete(fileOf(lease.id));
        if (isThere && lease.bootId === origin.boot) results.set(lease.id, this.#named(lease));
        else toPutRight.push(lease);
      }
      const known = new Set(leases.map(({ id }) => id));
      for (const name of others) {
        const draftOf = writtenBy(name, origin.root);
        const leaseId = draftOf ?? leaseOf(name);
        if (leaseId === undefined || (!known.has(leaseId) && lives(leaseId))) continue;
        // A draft's name that cannot be removed disturbs nobody.
        if (draftOf !== undefined) await this.#soon(() => directory.remove(name).catch(() => undefined));
        if (draftOf !== undefined || !mayRemove) continue;
        const found = await this.#read(name);
        if (found?.origin.root === origin.root) await this.#soon(() => directory.remove(name));
      }
    } catch (failure) {
      this.#hasLeftovers ||= hadLeftovers;
      this.#isLookOwed ||= mayRemove;
      const problem = this.#cannot('read', failure);
      for (const { id } of leases) if (!results.has(id)) results.set(id, { problem, reason: 'later' });
      return results;
    }
    if ((hadLeftovers || wasOwed) && !this.#hasLeftovers) this.#ports.degraded(undefined);
    for (const lease of toPutRight) results.set(lease.id, await this.#putRight(lease));
    return results;
  }

  /** Reads which devices the files of this root, written in this boot, give to which lease. Never rejects. */
  async claims(): Promise<readonly CdiClaim[]> {
    const { directory, origin } = this.#ports;
    const claims: CdiClaim[] = [];
    try {
      for (const name of await this.#soon(() => directory.names())) {
        const leaseId = leaseOf(name);
        if (leaseId === undefined) continue;
        const found = await this.#read(name);
        if (found?.origin.root !== origin.root || found.origin.boot !== origin.boot) continue;
        const devices = new Map(
          [...found.devices].map(([resource, ids]) => [resource, ids.map((id) => ({ id, numaNodes: [] }))]),
        );
        claims.push({ leaseId, devices });
      }
    } catch (failure) {
      if ((failure as NodeJS.ErrnoException).code !== 'ENOENT') this.#cannot('read', failure);
    }
    return claims.sort((one, other) => (one.leaseId < other.leaseId ? -1 : 1));
  }

  async #read(name: string): Promise<ReturnType<typeof readCdiText>> {
    const text = await this.#soon(() => this.#ports.directory.text(name));
    return text === undefined ? undefined : readCdiText(text);
  }

  async #putRight(lease: Lease): Promise<CdiResult> {
    try {
      const wanted = await this.#textOf(lease);
      const found = await this.#soon(() => this.#ports.directory.text(fileOf(lease.id)));
      if (!wanted.ok || found !== wanted.text) return await this.write(lease);
    } catch (failure) {
      return { problem: this.#cannot('written', failure), reason: 'later' };
    }
    return this.#named(lease);
  }

  #named({ id }: Lease): CdiResult {
    return { name: deviceName(this.#ports.kind, id) };
  }

  /** Makes the text of a lease's file; a host that does not answer is a problem of this lease, not of the directory. */
  async #textOf(lease: Lease): Promise<ReturnType<typeof cdiText>> {
    const { look, kind, origin } = this.#ports;
    try {
      const paths = hostPathsOf(lease);
      const user = strangerUser(lease.uid, this.#ports);
      const found =
        paths.length === 0 ? new Map() : await this.#onHost.soon((signal) => look(paths, signal), this.#leftMs, user);
      return cdiText(lease, kind, origin, found);
    } catch (failure) {
      const problem = `its device nodes cannot be looked at: ${asError(failure).message}`;
      return { ok: false, problem, reason: 'unseen' };
    }
  }

  /** One operation on the directory. @throws Error when it takes too long, or one before it still does */
  #soon<T>(work: () => Promise<T>): Promise<T> {
    return this.#onDirectory.soon(work, this.#leftMs);
  }

  get #leftMs(): number {
    return this.#ports.leftMs?.(WRITE_MS) ?? WRITE_MS;
  }

  #cannot(what: 'written' | 'removed' | 'read', failure: unknown): string {
    const { directory } = this.#ports;
    const problem = `CDI files cannot be ${what} in ${directory.path}: ${asError(failure).message}`;
    this.#ports.degraded(
      `${problem}; leases work without CDI names until the broker may write there (cdi.dir says where, off says nowhere)`,
    );
    return problem;
  }
}
