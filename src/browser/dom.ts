// Makes elements. Text only ever becomes text.
import { visible } from '../kernel/visible.js';

/** The properties of an element: attributes, listeners (`onclick`), `class`. */
export type Props = Readonly<Record<string, string | number | boolean | ((event: Event) => void) | undefined>>;
/** A child of an element. */
export type Child = Node | string | number | undefined | false;

/** An element of HTML. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(tag), props, children);
}

/** An element of SVG. */
export function s(tag: string, props: Props = {}, ...children: readonly Child[]): SVGElement {
  return dressed(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function dressed<E extends Element>(element: E, props: Props, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  }
  fill(element, ...children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(
    ...children
      .filter((child) => child !== undefined && child !== false)
      .map((child) => (typeof child === 'number' ? String(child) : child)),
  );
}

/** Changes a text only where it is another one, so that selections and screen readers are left alone. */
export function say(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Text that others chose: it cannot change the direction or the meaning of the text around it. */
export function foreign(text: string): HTMLElement {
  return h('bdi', {}, visible(text));
}
