// The few system calls that Node does not have, through koffi where it is installed. Loaded once, when first needed.
import { createRequire } from 'node:module';

/** libc functions used here, with their C declarations. */
const DECLARATIONS = {
  socket: 'int socket(int domain, int type, int protocol)',
  connect: 'int connect(int fd, const void *address, uint32_t length)',
  close: 'int close(int fd)',
  getsockopt: 'int getsockopt(int fd, int level, int name, _Out_ void *value, _Inout_ uint32_t *length)',
  sendto: 'int64_t sendto(int fd, const void *data, size_t length, int flags, const void *address, uint32_t size)',
} as const;

/** The functions, as called. */
export interface Native {
  socket(domain: number, type: number, protocol: number): number;
  connect(fd: number, address: Buffer, length: number): number;
  close(fd: number): number;
  getsockopt(fd: number, level: number, name: number, value: Buffer, length: number[]): number;
  sendto(fd: number, data: Buffer, length: number, flags: number, address: Buffer, size: number): number;
  /** The error number of the last call. */
  errno(): number;
}

interface Koffi {
  load(library: null): { func(declaration: string): unknown };
  errno(): number;
}

/** Linux numbers. */
export const AF_UNIX = 1;
export const SOCK_STREAM = 1;
export const SOCK_DGRAM = 2;
export const SOCK_NONBLOCK = 0o4000;
export const SOCK_CLOEXEC = 0o2000000;
export const SOL_SOCKET = 1;
export const SO_PEERCRED = 17;

/**
 * Loads koffi and binds the functions.
 *
 * @returns undefined when koffi is not installed or does not fit this machine
 */
export function loadNative(load: (name: string) => unknown = createRequire(import.meta.url)): Native | undefined {
  try {
    const koffi = load('koffi') as Koffi;
    const libc = koffi.load(null);
    const bound = Object.fromEntries(Object.entries(DECLARATIONS).map(([name, text]) => [name, libc.func(text)]));
    return { ...(bound as unknown as Omit<Native, 'errno'>), errno: () => koffi.errno() };
  } catch {
    return undefined; // optional by design: what stands in is said by doctor and in the log at start
  }
}

/** The address of a unix socket: family and path, or a name that begins with NUL (abstract). */
export function unixAddress(path: string): Buffer {
  const bytes = Buffer.from(path);
  const address = Buffer.alloc(2 + bytes.length + (path.startsWith('\0') ? 0 : 1));
  address.writeUInt16LE(AF_UNIX, 0);
  bytes.copy(address, 2);
  return address;
}
