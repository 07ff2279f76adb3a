// One file operation at a time: a disk that hangs takes one thread of libuv's pool, never all of them.
import { KeyedLane } from '../../kernel/keyed-lane.js';
import type { FilePort, OpenFile } from '../../checkpoint/file-port.js';

/** The same files, each operation begun only when the one before has ended, in the order in which they were asked for. */
export function oneAtATime(files: FilePort): FilePort {
  const lane = new KeyedLane();
  const run = <T>(operation: () => Promise<T>): Promise<T> => lane.run('disk', operation);
  const opened = (file: OpenFile): OpenFile => ({
    write: (bytes) => run(() => file.write(bytes)),
    sync: () => run(() => file.sync()),
    close: () => run(() => file.close()),
  });
  return {
    makeDirectory: (path) => run(() => files.makeDirectory(path)),
    read: (path, maxBytes) => run(() => files.read(path, maxBytes)),
    readTail: (path, maxBytes) => run(() => files.readTail(path, maxBytes)),
    list: (path) => run(() => files.list(path)),
    sizeOf: (path) => run(() => files.sizeOf(path)),
    room: (path) => run(() => files.room(path)),
    create: async (path) => opened(await run(() => files.create(path))),
    append: async (path) => opened(await run(() => files.append(path))),
    rename: (from, to) => run(() => files.rename(from, to)),
    link: (from, to) => run(() => files.link(from, to)),
    remove: (path) => run(() => files.remove(path)),
    restrict: (path) => run(() => files.restrict(path)),
    syncDirectory: (path) => run(() => files.syncDirectory(path)),
  };
}
