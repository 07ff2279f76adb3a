// Which :authority a request may have. nghttp2 resets a request whose authority it dislikes before any code of ours
// sees it, and grpc-go before 1.57 sends the raw socket path.
import { HeaderField } from './hpack-field.js';

/**
 * The characters that every supported nghttp2 accepts: those of RFC 3986 3.2 without `@`, which newer ones refuse because RFC
 * 9113 8.3.1 forbids user information.
 */
const ACCEPTABLE = /^[A-Za-z0-9\-._~!$&'()*+,;=:[\]%]+$/;
/** The value that grpc libraries send for unix sockets. */
const LOCALHOST = new HeaderField(':authority', 'localhost');

/** Whether the server accepts this value of `:authority` or `host`. */
export function isAcceptableAuthority(value: string): boolean {
  return ACCEPTABLE.test(value);
}

/**
 * The fields of a request with an authority that the server accepts: `localhost` in place of a refused one, or added
 * where there is neither an authority nor a `host` to stand in.
 *
 * @returns the very same array when nothing has to change
 */
export function withAcceptableAuthority(fields: readonly HeaderField[]): readonly HeaderField[] {
  let isNamed = false;
  let isRefused = false;
  for (const { name, value } of fields) {
    if (name === ':authority') {
      isNamed = true;
      isRefused ||= !isAcceptableAuthority(value);
    } else if (name === 'host') {
      isNamed ||= isAcceptableAuthority(value);
    }
  }
  if (!isNamed) return [LOCALHOST, ...fields];
  if (!isRefused) return fields;
  return fields.map((field) => (field.name === ':authority' ? LOCALHOST : field));
}
