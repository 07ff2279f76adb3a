// The form of the configuration file: every key, its default, one line of meaning. The single source of the compiled
// check, of config/plugin-broker.schema.json, and of the defaults (docs/specification.md#configuration).
import * as z from 'zod';
import type { ConfigForm } from '../../config/file-form.js';
import {
  choice,
  count,
  duration,
  durationOrZero,
  glob,
  list,
  orOff,
  ruleName,
  section,
  size,
  text,
  uids,
} from './leaf-schemas.js';
import { allocateRule, allocationSections, frontSection, paths, socket } from './sections.js';
import { STANDARD_PENALTY } from '../../model/standard-penalty.js';

const PERMITS = count(1, 1_000_000);
const registerAction = choice('delay', 'reject', 'disconnect');
const updateAction = choice('coalesce', 'disconnect');
const mode = choice('enforce', 'observe');

const bucket = (burst: number, interval: string) => ({
  burst: PERMITS.default(burst).describe('Permits at once'),
  interval: duration.default(interval).describe('One permit more each interval'),
});

const registerLimit = (burst: number, interval: string) =>
  section({
    ...bucket(burst, interval),
    onExceed: registerAction
      .default('delay')
      .describe(
        'delay: hold the call until its turn; reject: refuse it; disconnect: refuse it and close the connection',
      ),
    maxDelay: durationOrZero
      .default('1s')
      .describe('The longest a call is held; beyond it the call is refused at once'),
  }).prefault({});

const FACTOR = { error: () => 'a number from 1 to 1000' };
const factor = z.number(FACTOR).min(1, FACTOR).max(1000, FACTOR);

const penalty = section({
  strikes: PERMITS.default(STANDARD_PENALTY.strikes).describe('Strikes inside the window that bring a quarantine'),
  window: duration.default(STANDARD_PENALTY.window).describe('How long a strike counts'),
  quarantine: duration.default(STANDARD_PENALTY.quarantine).describe('Length of the first quarantine'),
  factor: factor.default(STANDARD_PENALTY.factor).describe('Each further quarantine is this many times longer'),
  max: duration.default(STANDARD_PENALTY.max).describe('The longest quarantine'),
});

const admission = section({
  allowUids: z
    .union([z.literal('any'), uids], { error: () => 'any, or a list of uids such as [0, 1000]' })
    .default('any')
    .describe('Uids that may register at all; a list needs koffi'),
  allowNames: list(glob, 'globs').default(['*']).describe('Globs of which a resource or driver name must match one'),
  denyNames: list(glob, 'globs').default([]).describe('Globs of which it must match none'),
  maxPlugins: count(1, 100_000).default(1024).describe('Plugins at most'),
  maxListBytesTotal: size.default('256MiB').describe('All device lists together, at most'),
  maxMessageBytes: size.default('16MiB').describe('One message, at most'),
  maxDevices: count(1, 10_000_000).default(200_000).describe('Devices of one list, at most'),
});

const guard = section({
  window: duration.default('10s').describe('The window in which the frames of one connection are counted'),
  settings: PERMITS.default(32).describe('SETTINGS frames'),
  pings: PERMITS.default(200).describe('PING frames, beside two for each answered call'),
  resets: PERMITS.default(100).describe('RST_STREAM frames, either side, beside one for each answered call'),
  emptyFrames: PERMITS.default(100).describe('Frames empty or padded; and messages of a request beyond its first'),
  windowUpdates: PERMITS.default(1000).describe('WINDOW_UPDATE frames, beside four for each answered call'),
  priorities: PERMITS.default(100).describe('PRIORITY frames'),
  informational: PERMITS.default(100).describe('Header blocks of a plugin beyond the two of each answer (1xx)'),
  frames: PERMITS.default(5000).describe('Frames of all kinds, beside sixteen for each answered call'),
  headerBytes: size.default('16KiB').describe('Bytes of one header block'),
  continuations: PERMITS.default(8).describe('CONTINUATION frames of one header block'),
  preface: duration.default('5s').describe('From connect to the complete preface and first SETTINGS'),
  headers: duration.default('5s').describe('From the first to the last frame of a header block'),
  idle: duration.default('5m').describe('A connection without an open call is closed after this'),
  halfOpen: duration.default('10s').describe('A call whose request is not complete by then ends its connection'),
  halfClosed: duration.default('10s').describe('From the end of one direction of a connection to the end of the other'),
  unreadBytes: size
    .default('1MiB')
    .describe('More bytes than this waiting for a peer that does not read end its connection at once'),
  unread: duration.default('10s').describe('The longest that any bytes may wait for such a peer'),
  age: duration.default('1h').describe('The longest life of a connection'),
});

const discovery = section({
  maxSockets: count(8, 100_000)
    .default(2048)
    .describe('Registration sockets known at most; one uid beside root and the broker has a quarter of them'),
  rescan: duration.default('10s').describe('How often directories are read again, for file events that got lost'),
  retryFirst: duration
    .default('100ms')
    .describe('Ceiling of the first wait before a failed registration is tried again; full jitter, doubling'),
  retryMax: duration.default('30s').describe('Ceiling of all waits'),
});

const flood = section({
  mode: mode.default('enforce').describe('enforce: limits act; observe: they count and report, and let pass'),
  register: registerLimit(5, '2s').describe('Register calls and watcher registrations of one plugin and uid'),
  updates: section({
    ...bucket(10, '250ms'),
    onExceed: updateAction
      .default('coalesce')
      .describe('coalesce: take the newest list on its turn; disconnect: close the session'),
  })
    .prefault({})
    .describe('ListAndWatch messages taken from one session'),
  connections: section({
    ...bucket(300, '20ms'),
    onExceed: choice('disconnect').default('disconnect').describe('disconnect: close it; there is no other way'),
    perProcess: PERMITS.default(256).describe('Open connections of one process (of one uid where its pid is unknown)'),
    total: PERMITS.default(2048).describe('Open connections in all'),
    streams: PERMITS.default(128).describe('Calls at once on one connection'),
  })
    .prefault({})
    .describe('Connections opened by one process; beyond it they are closed'),
  allocate: section(bucket(20, '50ms'))
    .prefault({})
    .describe('Requests for devices (alloc.sock) of one uid; beyond it they are refused with a time'),
  global: section({ register: registerLimit(1000, '5ms').describe('All registrations together') })
    .prefault({})
    .describe('Limits on all plugins together'),
  penalty: orOff(penalty)
    .prefault({})
    .describe('How strikes become a quarantine; off: refuse and slow down, and never quarantine'),
  maxBuckets: count(16, 1_000_000)
    .default(4096)
    .describe('Buckets kept at most; beyond it newcomers of one uid share one'),
});

const rule = section({
  name: ruleName.exactOptional().describe('Its name in limits, events and metrics'),
  match: section({
    type: glob.exactOptional().describe('DevicePlugin, CSIPlugin or DRAPlugin'),
    name: glob.exactOptional().describe('The resource or driver name; * matches slashes too'),
    socket: glob.exactOptional().describe('The path of the socket; without a slash, its last part'),
  }).describe('Globs, all of which must match; an absent one matches everything'),
  flood: section({
    mode: mode.exactOptional(),
    register: section({
      burst: PERMITS.exactOptional(),
      interval: duration.exactOptional(),
      onExceed: registerAction.exactOptional(),
      maxDelay: durationOrZero.exactOptional(),
    }).exactOptional(),
    updates: section({
      burst: PERMITS.exactOptional(),
      interval: duration.exactOptional(),
      onExceed: updateAction.exactOptional(),
    }).exactOptional(),
    penalty: orOff(
      section({
        strikes: PERMITS.exactOptional(),
        window: duration.exactOptional(),
        quarantine: duration.exactOptional(),
        factor: factor.exactOptional(),
        max: duration.exactOptional(),
      }),
    ).exactOptional(),
  })
    .exactOptional()
    .describe('Differences from flood'),
  duplicates: choice('newest', 'keep-alive', 'reject')
    .exactOptional()
    .describe(
      'The plugin that gets a name which several ask for: the newest (default), the incumbent while it is alive, the incumbent',
    ),
  reattach: choice('stream', 'probe', 'recycle')
    .exactOptional()
    .describe(
      'How a broken ListAndWatch is taken up again: open it again (default), only probe, probe and remove the socket so that the plugin registers afresh',
    ),
  grace: durationOrZero.exactOptional().describe('How long a lost plugin is held'),
  uids: uids.exactOptional().describe('Uids that may register these plugins'),
  allocate: allocateRule,
});

/** The file. Every key has a default; unknown keys are errors. */
const fileSchema = section({
  paths: paths.prefault({}).describe('Where things are; sockets at most 107 bytes long'),
  socket: socket
    .prefault({})
    .describe('The users that may connect to kubelet.sock; those of a default ACL of its directory may connect too'),
  http: section({
    listen: text.default('127.0.0.1:9720').describe('host:port of the status page, metrics and health, or off'),
    page: choice('on', 'off').default('on').describe('The status page at / and its API; off leaves metrics and health'),
    allowedHosts: list(text, 'names')
      .default([])
      .describe('Names beside localhost and IP addresses by which it may be asked for'),
  })
    .prefault({})
    .describe('Status page, metrics and health: to be read, nothing can be changed there'),
  admission: admission.prefault({}).describe('The callers and plugins that may come in'),
  guard: guard
    .prefault({})
    .describe(
      'Budgets of one connection, whichever side opened it, in frames per window; beyond one of them it is closed',
    ),
  discovery: discovery.prefault({}).describe('How sockets are found and tried again'),
  flood: flood.prefault({}).describe('The flood policy; a bucket is burst permits at once and one more each interval'),
  rules: list(rule, 'rules')
    .default([])
    .describe('Differences for some plugins; for each key the first rule that matches and has it decides'),
  shippedRules: choice('on', 'off')
    .default('on')
    .describe(
      'Whether the rules that are shipped come after your own: for plugins that do not bear a second ListAndWatch',
    ),
  timeouts: section({
    register: duration.default('10s').describe('The whole of a Register call, the dial back included'),
    getInfo: duration.default('5s').describe('GetInfo at the watcher door'),
    options: duration.default('5s').describe('GetDevicePluginOptions'),
    notify: duration.default('5s').describe('NotifyRegistrationStatus'),
    nodeGetInfo: duration.default('15s').describe('NodeGetInfo of a CSI driver'),
    allocate: duration.default('10s').describe('Allocate of a device plugin'),
    preferred: duration
      .default('1s')
      .describe('GetPreferredAllocation of a device plugin; without an answer by then the broker chooses itself'),
    preStart: duration.default('30s').describe('PreStartContainer of a device plugin'),
  })
    .prefault({})
    .describe('Deadlines of calls'),
  grace: section({
    device: durationOrZero.default('30s').describe('Device plugins'),
    csi: durationOrZero.default('0s').describe('CSI drivers'),
    dra: durationOrZero.default('30s').describe('DRA drivers'),
  })
    .prefault({})
    .describe('How long a lost plugin is held before its resource is gone'),
  liveness: section({
    interval: duration.default('5s').describe('How often a silent plugin is asked'),
    timeout: duration.default('3s').describe('How long its answer may take'),
    failures: count(1, 1000).default(1).describe('Failed calls in a row before it counts as lost'),
  })
    .prefault({})
    .describe('How a frozen plugin is found'),
  restart: section({
    deadline: duration.default('5s').describe('How long a start waits for the plugins and the disk of the checkpoint'),
    settle: durationOrZero
      .default('30s')
      .describe('How long a plugin that restarts itself when kubelet.sock is re-created stays served'),
    wipeSockets: choice('never', 'on-cold-start', 'always')
      .default('on-cold-start')
      .describe('When plugin sockets are removed at start, so that plugins register afresh'),
  })
    .prefault({})
    .describe('After a restart of the daemon'),
  checkpoint: section({
    writeDeadline: duration
      .default('2s')
      .describe('A write that is not durable by then is reported, and its callers are answered'),
    listInterval: duration.default('1s').describe('List changes of one resource are written at most this often'),
    inlineListBytes: size.default('1KiB').describe('Larger lists, and answers in leases, are files of their own'),
  })
    .prefault({})
    .describe('The checkpoint of plugin sockets'),
  ...allocationSections,
  front: frontSection,
  csi: section({
    publish: choice('file', 'kubernetes')
      .default('file')
      .describe('Where node facts go: state/csinode.json, or the API server'),
    nodeName: text.default('auto').describe('The name of the Node object; auto: $NODE_NAME, else the host name'),
    kubeconfig: text
      .default('auto')
      .describe('A kubeconfig file; auto: the service account of the pod that the broker runs in'),
  })
    .prefault({})
    .describe('CSI drivers'),
  log: section({
    level: choice('error', 'warn', 'info', 'debug')
      .default('info')
      .describe('The least important lines that are written'),
    format: choice('auto', 'json', 'pretty').default('auto').describe('auto: pretty on a terminal, else json'),
  })
    .prefault({})
    .describe('Logs on stderr'),
});

type Satisfies<Wanted, Given extends Wanted> = Given;
/** The schema and the written form of the settings say the same: a compile error here means that they drifted apart. */
type FormOfSchema = Satisfies<ConfigForm, z.output<typeof fileSchema>>;

/** Checks a document that came from outside and fills in the defaults. */
export function parseForm(document: unknown): z.ZodSafeParseResult<FormOfSchema> {
  return fileSchema.safeParse(document);
}

/** The schema for editors and for the compiled check. */
export function jsonSchema(): object {
  return { title: 'plugin-broker configuration', ...z.toJSONSchema(fileSchema, { io: 'input' }) };
}
