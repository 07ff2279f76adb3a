// A real browser for tests of pages: Debian's Chromium through playwright-core, where it is installed.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Where distributions put it. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** A test asks nobody outside for anything. */
const QUIET = [
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

/** A browser that was started. */
export type OpenBrowser = Browser;

/** The browser, or why there is none. */
export async function browserOrReason(): Promise<{ browser?: OpenBrowser; reason?: string }> {
  const executablePath = PLACES.find((file) => existsSync(file));
  if (executablePath === undefined) return { reason: `no browser at ${PLACES.join(', ')}: install Debian's chromium` };
  const { chromium } = await import('playwright-core');
  const isRoot = process.getuid?.() === 0;
  return { browser: await chromium.launch({ executablePath, args: [...QUIET, ...(isRoot ? ['--no-sandbox'] : [])] }) };
}

/** A page with what it said and what it asked for. */
export interface OpenPage {
  readonly page: Page;
  /** Lines of the console, errors of the page among them. */
  readonly console: readonly string[];
  /** Everything that was asked for; data addresses are no requests. */
  readonly requests: readonly string[];
  /** The faults that axe finds, as `rule: element`. */
  violations(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Opens a page in a context of its own. */
export async function openPage(
  browser: OpenBrowser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenPage> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const said: string[] = [];
  const requests: string[] = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('request', (request) => {
    if (!request.url().startsWith('data:')) requests.push(request.url());
  });
  await page.goto(url);
  return {
    page,
    console: said,
    requests,
    violations: async () => {
      await page.evaluate(axeSource());
      const found: Violation[] = await page.evaluate('axe.run().then(({ violations }) => violations)');
      return found.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
    },
    close: () => context.close(),
  };
}

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[] }[];
}

/** Its source is evaluated: a script element would be refused by the policy of the page. */
function axeSource(): string {
  return readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8');
}
