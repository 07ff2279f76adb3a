import type { PageSnapshot } from '../model/page-views.js';

/** What the title says. */
export function titleOf({ place }: Pick<PageSnapshot, 'place'>): string {
  return `${place.host} · plugin-broker`;
}

document.title = 'plugin-broker';
