// Small parts that stand in many places.
import { fill, foreign, h, say, type Child } from './dom.js';
import { clock, lasting } from './words.js';

/** A word in the colour of its state. */
export function state(word: string): HTMLElement {
  return h('span', { class: `state s-${word}` }, word);
}

/** A name that a plugin chose. */
export function named(name: string): HTMLElement {
  const element = foreign(name);
  element.className = 'name';
  return element;
}

/** An age or a time left that goes on by itself; `since` in the past, `until` in the future. */
export function ticking(what: 'since' | 'until', time: string): HTMLElement {
  return h('time', { datetime: time, 'data-what': what });
}

/** Writes all ages and times left anew. */
export function tick(root: ParentNode, now: number): void {
  for (const element of root.querySelectorAll<HTMLTimeElement>('time[data-what]')) {
    const at = Date.parse(element.dateTime);
    if (Number.isNaN(at)) continue;
    const left = element.dataset['what'] === 'until' ? at - now : now - at;
    const isOver = element.dataset['what'] === 'until' && left <= 0;
    say(element, isOver ? 'now' : lasting(Math.max(0, left < 1000 ? left : Math.floor(left / 1000) * 1000)));
    if (element.title === '') element.title = clock(at, now);
  }
}

/** A command, and a button that copies it. */
export function command(text: string): HTMLElement {
  const code = h('code', {}, text);
  const copy = async (button: Element): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      fill(button, 'Copied');
    } catch {
      // No clipboard over plain HTTP: it is selected, and the keyboard copies it.
      getSelection()?.selectAllChildren(code);
      fill(button, 'Selected');
    }
    setTimeout(() => fill(button, 'Copy'), 2000);
  };
  const button = h(
    'button',
    {
      type: 'button',
      'aria-label': `Copy ${text}`,
      onclick: ({ currentTarget }) => void copy(currentTarget as Element),
    },
    'Copy',
  );
  return h('span', { class: 'command' }, code, button);
}

/** How much of how much, as a length and in words. */
export function meter(value: number, most: number, label: string): HTMLElement {
  const inner = h('span');
  inner.style.width = `${String(most === 0 ? 0 : Math.min(100, (value / most) * 100))}%`;
  const range = { 'aria-valuemin': 0, 'aria-valuemax': most, 'aria-valuenow': value };
  return h(
    'span',
    { class: `meter${value < most ? ' part' : ''}`, role: 'meter', 'aria-label': label, ...range },
    inner,
  );
}

/** A list of terms. */
export function facts(pairs: readonly (readonly [term: string, what: Child])[]): HTMLElement {
  const shown = pairs.filter(([, what]) => what !== '' && what !== undefined);
  return h('dl', {}, ...shown.flatMap(([term, what]) => [h('dt', {}, term), h('dd', {}, what)]));
}

/** A section with its heading. */
export function section(id: string, title: string, ...children: readonly Child[]): HTMLElement {
  return h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), ...children);
}
