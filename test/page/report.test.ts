// The report of verify in a real browser: nothing is loaded, nothing is wrong for those who cannot see it, and it reads
// where a server forbids style and script.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { browserOrReason, openPage, type OpenBrowser } from '../support/browser.js';
import { run } from '../support/program.js';
import { tempDir } from '../support/temp-dir.js';
import { simCommand } from '../support/verifying.js';

/** As Jenkins serves the files of a job. */
const JENKINS = "sandbox; default-src 'none'; style-src 'self'";
const opened = await browserOrReason();

void describe('the report of verify', { skip: opened.reason }, () => {
  const browser = opened.browser as OpenBrowser;
  let page = '';
  let server: Server;

  before(async () => {
    const folder = tempDir();
    const report = path.join(folder, 'r.html');
    const command = simCommand('--watch', 'create');
    await run([
      'verify',
      '--scenario',
      'first-list',
      'restart-kill',
      'unlink-only',
      '--report',
      report,
      '--',
      ...command,
    ]);
    page = readFileSync(report, 'utf8');
    server = createServer((request, answer) => {
      if (request.url === '/strict') answer.setHeader('content-security-policy', JENKINS);
      answer.setHeader('content-type', 'text/html; charset=utf-8');
      answer.end(page);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await browser.close();
  });
  const url = (name: string): string => `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/${name}`;

  for (const scheme of ['light', 'dark'] as const) {
    void it(`has no violation that axe finds, no word on the console, and loads nothing (${scheme})`, async () => {
      const open = await openPage(browser, url('plain'), { colorScheme: scheme });
      // Everything is looked at, folded or not.
      await open.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })");
      assert.deepEqual(await open.violations(), []);
      assert.deepEqual([open.console, open.requests], [[], [url('plain')]]);
      await open.close();
    });
  }

  void it('fits a screen of 320 pixels', async () => {
    const open = await openPage(browser, url('plain'), { viewport: { width: 320, height: 640 } });
    const overflow = await open.page.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    assert.ok(Number(overflow) <= 0, `${String(overflow)} pixels wider than the screen`);
    await open.close();
  });

  void it('reads under a policy that forbids style and script', async () => {
    const open = await openPage(browser, url('strict'));
    const text = await open.page.innerText('body');
    assert.match(text, /2 passed, 1 failed, 0 skipped/);
    assert.match(text, /unlink-only/);
    assert.match(text, /How to mend it/);
    const fills = await open.page.evaluate("document.querySelectorAll('svg rect[fill]').length");
    assert.ok(Number(fills) > 10);
    assert.deepEqual(open.requests, [url('strict')]);
    await open.close();
  });
});
