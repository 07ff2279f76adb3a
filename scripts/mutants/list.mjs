// What is undone, one thing at a time, and the test that is to notice it.

/**
 * `test`: a file below test/, or a check of its own that is a script. `isBundled`: the test runs the programs of dist/, which
 * are built anew.
 *
 * @type {readonly { title: string, file: string, search: string, replace: string, test: string, isBundled?: boolean }[]}
 */
export const MUTANTS = [
  // Limits: who waits.
  {
    title: 'who waits for the limit of all waits for one turn of each other process',
    file: 'src/flood/fair-turns.ts',
    search: 'this.#byProcess.delete(waiter.process);\n      this.#byProcess.set(waiter.process, others);',
    replace: '',
    test: 'unit/flood/fair-turns',
  },
  {
    title: 'a turn that is waited for is a job of Bottleneck',
    file: 'src/platform/limits/bottleneck-limiter.ts',
    search: 'line.bottleneck.schedule(() => this.#turn(line))',
    replace: 'this.#turn(line)',
    test: 'contract/limits/without-bottleneck',
  },
  {
    title: 'a turn that is waited for comes',
    file: 'src/platform/limits/bottleneck-limiter.ts',
    search: 'line.bottleneck.schedule(() => this.#turn(line))',
    replace: 'line.bottleneck.schedule(() => new Promise(() => undefined))',
    test: 'contract/limits/flood-on-bottleneck',
  },
  {
    title: 'a reload goes on with the line of those who wait',
    file: 'src/platform/limits/bottleneck-limiter.ts',
    search: '    this.#settings = settings;\n    this.#renew();',
    replace: '    this.#settings = settings;\n    this.#letGo();',
    test: 'contract/limits/bottleneck-limiter',
  },
  {
    title: 'a reload changes the pace of the line',
    file: 'src/platform/limits/bottleneck-limiter.ts',
    search: '    this.#settings = settings;\n    this.#renew();',
    replace: '    this.#settings = settings;',
    test: 'contract/limits/bottleneck-limiter',
  },
  // Messages: the tables are made of the .proto files.
  {
    title: 'a .proto file that changes makes another table',
    file: 'proto/deviceplugin/v1beta1/deviceplugin.proto',
    search: 'string resource_name = 3;',
    replace: 'string resource_name = 4;',
    test: 'contract/wire/generated',
  },
  // Transitions.
  {
    title: 'a change that no rule allows is not made',
    file: 'src/reconcile/transitions.ts',
    search: "  gone: ['connecting'],",
    replace: "  gone: ['connecting', 'ready'],",
    test: 'unit/daemon/states',
  },
  {
    title: 'an illegal change is an error in tests',
    file: 'src/reconcile/transitions.ts',
    search: '  throw new Error(message);',
    replace: '  return message as never;',
    test: 'unit/reconcile/transitions',
  },
  // Durability.
  {
    title: 'a file is on the disk when sync resolves',
    file: 'src/platform/store/node-files.ts',
    search: 'finish((done) => fs.fdatasync(fd, done))',
    replace: 'Promise.resolve()',
    test: 'contract/store/files',
  },
  {
    title: 'a name is on the disk when the sync of its directory resolves',
    file: 'src/platform/store/node-files.ts',
    search: 'await finish((done) => fs.fsync(fd, done));',
    replace: '',
    test: 'contract/store/files',
  },
  {
    title: 'a file is synced before it counts',
    file: 'src/platform/store/write-whole.ts',
    search: '      await file.sync();\n',
    replace: '',
    test: 'unit/checkpoint/power-cut',
  },
  {
    title: 'a pardon is persisted',
    file: 'src/flood/flood-gate.ts',
    search: 'if (pardoned > 0) this.listeners.tell',
    replace: 'if (pardoned < 0) this.listeners.tell',
    test: 'unit/flood/quarantine',
  },
  {
    title: 'a list file that was found is not trusted',
    file: 'src/checkpoint/device-lists.ts',
    search: "this.#present.set(sha256, 'found')",
    replace: "this.#present.set(sha256, 'whole')",
    test: 'unit/checkpoint/device-lists',
  },
  {
    title: 'a predecessor becomes a fallback on the disk',
    file: 'src/checkpoint/persistence.ts',
    search: 'if (isReplaced(instance)) this.#replaced(instance);\n    else if',
    replace: 'if',
    test: 'unit/checkpoint/persistence',
  },
  // Admission and flood.
  {
    title: 'an incarnation is judged by the socket that registers',
    file: 'src/admission/admission.ts',
    search: 'incarnationKey((request.socket ?? endpoint).incarnation)',
    replace: 'incarnationKey(endpoint.incarnation)',
    test: 'unit/admission/admission',
  },
  {
    title: 'a swapped socket is not pulled',
    file: 'src/admission/admission.ts',
    search: 'request.expected !== undefined && request.expected !== socketKey',
    replace: 'request.expected === null',
    test: 'unit/admission/admission',
  },
  {
    title: 'buckets with strikes or in quarantine are not evicted',
    file: 'src/flood/bucket.ts',
    search: 'this.limiter.isFull() && this.penalty(nowMs) === CLEAN',
    replace: 'this.limiter.isFull()',
    test: 'unit/flood/quarantine',
  },
  {
    title: 'all who offended are kept, not only the last',
    file: 'src/flood/bucket.ts',
    search: '[...others, by].slice(-MAX_OFFENDERS)',
    replace: 'others.length < 0 ? others : [by]',
    test: 'unit/flood/quarantine',
  },
  {
    title: 'pids of another boot are nobody that offended',
    file: 'src/flood/penalty-record.ts',
    search: 'isSameBoot ? value.offenders : []',
    replace: 'value.offenders',
    test: 'unit/flood/quarantine',
  },
  {
    title: 'retry-after is waited for when the broker comes back',
    file: 'src/reconcile/pull.ts',
    search: 'refusal.retryAfterMs ?? 0',
    replace: '0',
    test: 'unit/reconcile/pull',
  },
  {
    title: 'retry-after is waited for at a registration socket',
    file: 'src/registration/watcher-door.ts',
    search: 'refusal.retryAfterMs ?? 0',
    replace: '0',
    test: 'unit/registration/watcher-door',
  },
  // Files and borders.
  {
    title: 'hidden names are not listed at a start and at a rescan',
    file: 'src/platform/fs/directory-watch.ts',
    search: "if (entry.name.startsWith('.')) continue;",
    replace: '',
    test: 'integration/files/listed-files',
  },
  {
    title: 'hidden names are not looked at',
    file: 'src/discovery/discovery.ts',
    search: ' && !this.#port.isHidden(path)',
    replace: '',
    test: 'unit/discovery/discovery',
  },
  {
    title: 'a socket is read again only when the last reason to wait is over',
    file: 'src/platform/http2/brake.ts',
    search: 'if (this.#reasons === 0 && !this.#socket.destroyed)',
    replace: 'if (!this.#socket.destroyed)',
    test: 'unit/platform/http2/brake',
  },
  {
    title: 'a nested field does not overrun its message',
    file: 'src/platform/wire/reader.ts',
    search: 'this.high !== 0 || end > this.end) throw',
    replace: 'this.high !== 0 || end > this.#bytes.length) throw',
    test: 'unit/platform/wire/codec',
  },
  {
    title: 'the upper half of a length counts',
    file: 'src/platform/wire/reader.ts',
    search: 'this.high !== 0 || end > this.end) throw',
    replace: 'end > this.end) throw',
    test: 'unit/platform/wire/codec',
  },
  {
    title: 'an HPACK string does not go on beyond its block',
    file: 'src/platform/http2/hpack-decoder.ts',
    search: "if (end > this.#block.length) throw malformed('a header string is longer than its block');",
    replace: '',
    test: 'unit/platform/http2/hpack-decoder',
  },
  // The journal.
  {
    title: 'events that wait for the disk are bounded',
    file: 'src/journal/spool.ts',
    search: 'if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();',
    replace: '',
    test: 'unit/journal/journal',
  },
  {
    title: 'an event that comes while the file is made small is not lost',
    file: 'src/journal/spool.ts',
    search: 'this.#waiting.filter((event) => event.seq > last)',
    replace: '[]',
    test: 'unit/journal/spool',
  },
  {
    title: 'repeats that were counted are told at the end',
    file: 'src/journal/repeats.ts',
    search: 'if (window.untold === 0) return;',
    replace: 'if (window.untold >= 0) return;',
    test: 'unit/journal/repeats',
  },
  // Sessions, drivers, instances.
  {
    title: 'only silent calls in a row make a plugin lost',
    file: 'src/session/session.ts',
    search: '  #alive(): void {\n    this.#silentProbes = 0;',
    replace: '  #alive(): void {',
    test: 'unit/session/session',
  },
  {
    title: 'liveness that was reloaded holds at once',
    file: 'src/session/device-plugin-handler.ts',
    search: '      get liveness() {\n        return settings().liveness;\n      },',
    replace: '      liveness: settings().liveness,',
    test: 'unit/session/session',
  },
  {
    title: 'node facts that are wanted again are not taken back',
    file: 'src/csi/node-info-publisher.ts',
    search: '    this.#unwanted.delete(info.driver);',
    replace: '',
    test: 'unit/csi/node-info-publisher',
  },
  {
    title: 'node facts that are wanted are not taken back by the sweep',
    file: 'src/csi/node-info-publisher.ts',
    search: 'if (!this.#wanted.has(driver)) this.#unwanted.add(driver);',
    replace: 'this.#unwanted.add(driver);',
    test: 'unit/csi/node-info-publisher',
  },
  // The front.
  {
    title: 'a lease that ends is looked at for its resources',
    file: 'src/allocation/consumers.ts',
    search: 'this.moved.tell((told) => told(resource));',
    replace: '',
    test: 'unit/allocation/consumers',
  },
  // The end of the process.
  {
    title: 'an unclean end is no success',
    file: 'src/serve.ts',
    search: 'return isClean ? EXIT.ok : EXIT.failed;',
    replace: 'return EXIT.ok;',
    test: 'integration/process/unclean-end',
    isBundled: true,
  },
  // The repository.
  {
    title: 'an invariant names a test that exists',
    file: 'ARCHITECTURE.md',
    search: '"the late end of an old session never disconnects its successor"',
    replace: '"the late end of an old session disconnects nobody"',
    test: 'scripts/check-repository.mjs',
  },
];
