// The files of the page, of which nothing is read before somebody looks at it.
import { pageNames } from '../../generated/page-names.js';
import type { PageFiles } from './page-routes.js';

export { pageNames };

/** The files. */
export async function pageFiles(): Promise<PageFiles> {
  return (await import('../../generated/page.js')).page;
}
