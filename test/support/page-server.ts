// The status page on the real server of a broker that is made of views: states that a real one passes through too fast.
import { silentLog } from './silence.js';
import { Audience } from '../../src/page/audience.js';
import { PageApi } from '../../src/page/api.js';
import { Picture } from '../../src/page/picture.js';
import { startHealthServer, type HealthServer } from '../../src/platform/http/health-server.js';
import { pageFiles, pageNames } from '../../src/platform/http/page-files.js';
import { pageRoutes } from '../../src/platform/http/page-routes.js';
import { slices } from '../../src/platform/time/slices.js';
import { systemClock } from '../../src/platform/time/system-clock.js';
import { eventually } from './eventually.js';
import { FakePageSource } from './page-source.js';

/** A page and the views behind it. */
export class PageServer {
  readonly source: FakePageSource;
  readonly url: string;
  readonly audience: Audience;
  readonly #server: HealthServer;

  private constructor(source: FakePageSource, audience: Audience, server: HealthServer, url: string) {
    this.source = source;
    this.audience = audience;
    this.#server = server;
    this.url = url;
  }

  static async start(): Promise<PageServer> {
    const source = new FakePageSource(systemClock);
    await source.journal.open(0);
    const picture = new Picture({ source, clock: systemClock, rest: slices() });
    const audience = new Audience({ source, clock: systemClock, log: silentLog, picture });
    const api = new PageApi({ source, picture });
    const server = startHealthServer(
      { listen: { host: '127.0.0.1', port: 0 }, page: 'on', allowedHosts: [] },
      pageRoutes({ api, audience, files: pageFiles, names: pageNames }),
      systemClock,
      silentLog,
      { told: () => undefined },
      { ownUid: 0, userOf: (uid) => uid, peers: { uidOfTcp: () => undefined, turnAwayMoreTcp: () => undefined } },
    );
    if (server === undefined) throw new Error('it is on');
    const port = await eventually('it listens', () => server.address?.port);
    return new PageServer(source, audience, server, `http://127.0.0.1:${String(port)}/`);
  }

  /** Something changed: those who follow are told. */
  touch(message = 'something changed'): void {
    this.source.journal.record({ type: 'operator', message });
  }

  close(): void {
    this.#server.close();
  }
}
