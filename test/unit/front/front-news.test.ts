import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RefusalSummary } from '../../../src/flood/refusal-summary.js';
import { FrontNews } from '../../../src/front/front-news.js';
import type { FrontView } from '../../../src/model/front.js';
import { FakeClock } from '../../support/fake-clock.js';

describe('the lines of the log about resources before the kubelet', () => {
  it("have a share where an ordinary user's plugins change their states all the time, and root's have not", () => {
    const lines: string[] = [];
    const told = (_event: string, message: string): void => void lines.push(message);
    const never = (): void => undefined;
    const clock = new FakeClock();
    const log = new RefusalSummary({ error: never, warn: told, info: told, debug: never }, clock, {
      ownUid: 0,
      userOf: (uid) => uid,
    });
    const news = new FrontNews({ record: never }, log);
    const view = (state: FrontView['state']): FrontView => ({
      state,
      reason: '',
      since: 0,
      told: { healthy: 0, unhealthy: 0 },
    });
    for (let nth = 0; nth < 2000; nth++) {
      for (const state of ['off', 'registering', 'refused'] as const) {
        news.resourceChanged(`user.example/r${String(nth % 250)}`, view(state), 4001);
      }
    }
    assert.ok(lines.length < 600, `${String(lines.length)} lines`);
    lines.length = 0;
    for (let nth = 0; nth < 2000; nth++) {
      news.connectionEnded(`user.example/r${String(nth % 250)}`, 4001, { code: 'over-budget', message: 'too many' });
    }
    assert.equal(lines.length, 1, 'of connections to his sockets the first is told, and the rest in a summary');
    lines.length = 0;
    for (let nth = 0; nth < 1000; nth++) news.resourceChanged('example.com/gpu', view('off'), 0);
    assert.equal(lines.length, 1000);
    log.close();
  });
});
