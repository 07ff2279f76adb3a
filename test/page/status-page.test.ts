// The status page in a real browser: each of its states, its words for those who cannot see it, and its requests.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { BrowserContextOptions } from 'playwright-core';
import type { PluginView } from '../../src/model/views.js';
import { BrokerProcess } from '../support/broker-process.js';
import { browserOrReason, openPage, type OpenBrowser, type OpenPage } from '../support/browser.js';
import { eventually } from '../support/eventually.js';
import { limitView, pluginView, resourceView } from '../support/fake-admin-port.js';
import { FakePlugin } from '../support/fake-plugin.js';
import { PageServer } from '../support/page-server.js';
import { tempDir } from '../support/temp-dir.js';
import { freePort } from '../support/free-port.js';
import { cannotBeTroubled, TroubledBroker } from '../support/troubled-broker.js';

const opened = await browserOrReason();
const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['forced colours', { forcedColors: 'active' }],
  ['320 pixels, reduced motion', { viewport: { width: 320, height: 640 }, reducedMotion: 'reduce' }],
];

/** Looks from the page itself. */
const ask = <T>(open: OpenPage, script: string): Promise<T> => open.page.evaluate(script);
const until = (open: OpenPage, script: string): Promise<unknown> =>
  eventually(script, async () => (await ask(open, script)) === true);
const hasText = (open: OpenPage, text: string): Promise<unknown> =>
  until(open, `document.body.innerText.includes(${JSON.stringify(text)})`);

/** Nothing on the console, nothing asked of anybody else, nothing that axe finds, no wider than the screen. */
async function isSound(open: OpenPage, url: string): Promise<void> {
  assert.deepEqual(await open.violations(), []);
  assert.deepEqual(open.console, []);
  assert.deepEqual(
    open.requests.filter((each) => !each.startsWith(url)),
    [],
  );
  const wider = await ask<number>(open, 'document.documentElement.scrollWidth - document.documentElement.clientWidth');
  assert.ok(wider <= 0, `${String(wider)} pixels wider than the screen`);
}

void describe('the status page', { skip: opened.reason, concurrency: false }, () => {
  const browser = opened.browser as OpenBrowser;
  after(() => browser.close());

  const shown = async (url: string, options: BrowserContextOptions = {}): Promise<OpenPage> => {
    const open = await openPage(browser, url, options);
    await open.page.waitForSelector('body.ready');
    return open;
  };

  void describe('of a broker made of views', () => {
    let server: PageServer;
    before(async () => {
      server = await PageServer.start();
    });
    after(() => server.close());
    const now = new Date().toISOString();
    const set = (
      plugins: readonly PluginView[],
      phase: 'ready' | 'restoring' | 'degraded' | 'stopping' = 'ready',
    ): void => {
      const { source } = server;
      source.port.pluginList = plugins.map((plugin) => ({ ...plugin, stateSince: now, registeredAt: now }));
      source.headList = { ...source.headList, broker: { ...source.headList.broker, phase, startedAt: now } };
      server.touch();
    };

    for (const [look, options] of LOOKS) {
      void it(`says how plugins come in where there is none (${look})`, async () => {
        set([]);
        const open = await shown(server.url, options);
        const text = await open.page.innerText('main');
        assert.match(text, /Nothing needs you\./);
        assert.match(text, /No plugin yet\. Plugins reach this broker at \/run\/pb\/device-plugins/);
        assert.match(text, /plugin-broker sim device/);
        assert.equal(await open.page.title(), '● ready · node-7 · plugin-broker');
        await isSound(open, server.url);
        await open.close();
      });
    }

    void it('counts those that are confirmed while the broker restores', async () => {
      const restored = { state: 'restored', reason: 'from-checkpoint' };
      set([pluginView({ name: 'example.com/a', ...restored }), pluginView({ name: 'example.com/b' })], 'restoring');
      const open = await shown(server.url);
      await hasText(open, '1 of 2 confirmed');
      await hasText(open, 'known, not yet confirmed');
      assert.match(await open.page.title(), /restoring/);
      await isSound(open, server.url);
      set([pluginView({ name: 'example.com/a' }), pluginView({ name: 'example.com/b' })]);
      await hasText(open, '2 ready');
      assert.match(await open.page.innerText('[role=status]'), /plugin-broker is ready\./);
      await open.close();
    });

    void it('shows each state with a word and a picture that has words, too', async () => {
      const states = ['ready', 'restored', 'connecting', 'held', 'quarantined', 'rejected', 'orphaned', 'gone'];
      set(
        states.map((state) =>
          pluginView({
            name: `example.com/${state}`,
            state,
            reason: 'registered',
            quarantinedUntil: state === 'quarantined' ? new Date(Date.now() + 90_000).toISOString() : '',
          }),
        ),
        'degraded',
      );
      server.source.port.limitList = [
        limitView({ permits: 3, burst: 5 }),
        limitView({ plugin: 'DevicePlugin/example.com/b', mode: 'observe', slowing: 'held', permits: 0 }),
      ];
      server.source.port.resourceList = [resourceView()];
      for (const [, options] of LOOKS) {
        const open = await shown(server.url, options);
        const rows = await open.page.locator('#plugins tbody tr').allInnerTexts();
        for (const state of states)
          assert.ok(
            rows.some((row) => row.includes(state)),
            state,
          );
        assert.match(rows.join('\n'), /kept out until \d\d:\d\d:\d\d/);
        for (const label of await ask<string[]>(
          open,
          "[...document.querySelectorAll('#plugins svg[role=img]')].map((one) => one.getAttribute('aria-label'))",
        ))
          assert.match(label, /^last 15 minutes: /);
        if ((options.viewport?.width ?? 1280) > 1000) {
          const flood = await open.page.innerText('#flood');
          assert.match(flood, /●●●○○/);
          assert.match(flood, /would be held/);
        }
        await isSound(open, server.url);
        await open.close();
      }
      server.source.port.limitList = [];
      server.source.port.resourceList = [];
    });

    void it('takes names for what they are: markup, letters that run the other way, 253 characters', async () => {
      const names = [
        '<script>alert(1)</script>',
        '<img src=x onerror=alert(1)>',
        'מכשיר.example/‮gpu',
        `${'a'.repeat(60)}.`.repeat(4) + 'example/x',
      ];
      set(names.map((name) => pluginView({ name, state: 'held', reason: 'connection-lost' })));
      for (const [, options] of LOOKS) {
        const open = await shown(server.url, options);
        await hasText(open, '<script>alert(1)</script>');
        assert.equal(await ask(open, "document.querySelectorAll('main script, main img').length"), 0);
        assert.ok((await open.page.innerText('#plugins')).includes('\\u{202e}'));
        await isSound(open, server.url);
        await open.close();
      }
    });

    void it('is used by the keyboard alone, and keeps the focus while news come in', async () => {
      set(['a', 'b', 'c'].map((name) => pluginView({ name: `example.com/${name}` })));
      const open = await shown(server.url);
      await hasText(open, 'example.com/c'); // the first picture may be the one before
      const focus = (): Promise<string> => ask(open, 'document.activeElement.textContent');
      const { keyboard } = open.page;
      await keyboard.press('j');
      await keyboard.press('j');
      assert.equal(await focus(), 'example.com/b');
      set(['a', 'b', 'c', 'd'].map((name) => pluginView({ name: `example.com/${name}`, pid: 7 })));
      await hasText(open, 'example.com/d');
      assert.equal(await focus(), 'example.com/b');
      await keyboard.press('k');
      assert.equal(await focus(), 'example.com/a');
      await keyboard.press('Enter');
      await until(open, "document.querySelector('button.open').getAttribute('aria-expanded') === 'true'");
      await keyboard.press('/');
      await keyboard.type('com/d');
      await until(open, "document.querySelectorAll('#plugins tbody tr:not(.below)').length === 1");
      await keyboard.press('Escape');
      await keyboard.press('?');
      await until(open, "document.querySelector('dialog').open");
      assert.deepEqual(await open.violations(), []);
      await keyboard.press('Escape');
      await keyboard.press('p');
      await hasText(open, 'paused');
      set([]);
      await keyboard.press('p');
      await hasText(open, 'No plugin yet');
      await open.close();
    });

    void it('shows 1,024 plugins, 200 of them until it is asked for all, and finds each', async () => {
      set(Array.from({ length: 1024 }, (_, nth) => pluginView({ name: `example.com/p${String(nth)}` })));
      const open = await shown(server.url);
      await hasText(open, 'Show the other 824');
      await open.page.fill('#filter', 'p1023');
      await until(open, "document.querySelectorAll('#plugins tbody tr').length === 1");
      await open.page.fill('#filter', '');
      await open.page.click('#plugins button.more');
      await until(open, "document.querySelectorAll('#plugins tbody tr').length === 1024");
      assert.deepEqual(open.console, []);
      await open.close();
      set([]);
    });

    void it('leaves connections to the seventh page of one browser', async () => {
      const context = await browser.newContext();
      const pages = [];
      for (let nth = 0; nth < 7; nth += 1) {
        const page = await context.newPage();
        await page.goto(server.url);
        await page.waitForSelector('body.ready', { timeout: 15_000 });
        pages.push(page);
      }
      const links = await Promise.all(pages.map((page) => page.innerText('.link')));
      assert.ok(links.filter((link) => link === 'live').length <= 5, links.join());
      assert.ok(
        links.every((link) => link === 'live' || link === 'every 5 s'),
        links.join(),
      );
      await context.close();
    });

    void it('reads without a script', async () => {
      const open = await openPage(browser, server.url, { javaScriptEnabled: false });
      assert.match(await open.page.innerText('body'), /api\/v1\/status/);
      await open.close();
    });
  });

  void it('keeps its last picture when the broker is killed, and goes on when it is back, with a line where it started', async (test) => {
    const port = await freePort();
    const broker = new BrokerProcess(tempDir(), { http: { listen: `127.0.0.1:${String(port)}` } });
    await broker.start();
    const socket = `${broker.devicePlugins}/gpu.sock`;
    const plugin = await FakePlugin.start({ socket, resource: 'example.com/gpu' });
    // Also where it fails: a plugin that goes on would keep the suite from ending.
    test.after(async () => {
      await plugin.stop();
      await broker.close();
    });
    await plugin.register(broker.kubeletSocket);
    const open = await shown(`http://127.0.0.1:${String(port)}/`);
    await hasText(open, 'example.com/gpu');
    await broker.end('SIGKILL');
    await hasText(open, 'reconnecting since');
    assert.equal(await ask(open, "document.body.classList.contains('stale')"), true);
    assert.match(await open.page.title(), /^○ lost/);
    assert.match(await open.page.innerText('#plugins'), /example\.com\/gpu/);
    assert.deepEqual(await open.violations(), []);
    await broker.start();
    await until(open, "document.querySelector('.link').textContent === 'live'");
    await until(open, "document.querySelectorAll('#starts tbody tr').length === 2");
    await hasText(open, 'after a kill');
    await until(open, "document.querySelectorAll('#plugins svg .start').length === 2");
    const bar = await ask<string>(open, "document.querySelector('#plugins svg').getAttribute('aria-label')");
    assert.match(bar, /2 starts of the broker/);
    // The console has only the words of the browser about a server that is away.
    assert.deepEqual(
      open.console.filter(
        (line) => !/ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|CONNECTION_RESET|EMPTY_RESPONSE)/.test(line),
      ),
      [],
    );
    const stopped = broker.end('SIGTERM');
    await hasText(open, 'the broker has stopped since');
    await stopped;
    await open.close();
  });

  void it(
    'lets a broker with five problems be understood from the page alone',
    { skip: cannotBeTroubled() },
    async () => {
      const troubled = await TroubledBroker.start();
      const { root } = troubled.broker;
      for (const [, options] of LOOKS) {
        const open = await shown(troubled.url, options);
        await eventually('all five', async () => (await open.page.locator('.need').count()) === 5);
        const needs = await open.page.locator('.need').allInnerTexts();
        const [disk, policy, loud, named, lost] = needs.map((need) => need.replaceAll(/\s+/g, ' '));
        assert.match(disk ?? '', /no space left on device.*served from memory.*df -h/);
        assert.match(policy ?? '', /newer policy is not in force.*flood\.register\.burst.*plugin-broker check-config/);
        assert.match(
          loud ?? '',
          /^kept out example\.com\/loud DevicePlugin let in again in \d+ min.*too many strikes.*plugin-broker pardon example\.com\/loud/,
        );
        assert.match(
          named ?? '',
          /^refused no slash here.*never came in.*vendor-domain\/resource.*plugin-broker explain 'no slash here'/,
        );
        assert.match(
          lost ?? '',
          /^lost example\.com\/lost DevicePlugin given up in \d+ min.*The connection to the plugin ended.*plugin-broker explain example\.com\/lost/,
        );
        for (const need of needs.slice(2)) assert.ok(need.includes(`--address ${root}/broker.sock`));
        assert.match(await open.page.title(), /^● degraded/);
        const countdown = await open.page.locator('.need time').first().innerText();
        await eventually(
          'it counts down',
          async () => (await open.page.locator('.need time').first().innerText()) !== countdown,
        );
        await open.page.locator('#plugins button.open').first().click();
        await hasText(open, 'Its last');
        await isSound(open, troubled.url);
        await open.close();
      }
      await troubled.close();
    },
  );
});
