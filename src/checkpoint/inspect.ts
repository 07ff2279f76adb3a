// `checkpoint show|verify`: reads a checkpoint, or a copy of one, without the daemon and without touching anything.
import { createHash } from 'node:crypto';
import path from 'node:path';
import { decodeCheckpoint, decodeDocument } from './decode.js';
import type { CheckpointDocument, PluginEntry, StoredAnswer } from './document.js';
import type { CheckpointInspection, InspectedPlugin, ListCondition } from '../model/checkpoint-inspection.js';
import { CSI_PLUGIN } from '../model/ids.js';
import type { FilePort } from './file-port.js';
import { unseal } from './envelope.js';
import { ifPossible } from '../kernel/if-possible.js';

/** As the daemon reads. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Of a file of which nothing is known. */
const NOTHING: Omit<CheckpointInspection, 'file' | 'condition'> = {
  bytes: 0,
  format: 0,
  generation: 0,
  bootId: '',
  writtenAt: '',
  eventSeq: 0,
  plugins: [],
  tombstones: 0,
  limits: 0,
  csiDrivers: [],
  ledger: '',
  leases: 0,
  problems: [],
  notes: [],
};

/**
 * Looks at a checkpoint file and at the device lists beside it. Rejects only when the file exists and cannot be read.
 *
 * @param files the file system
 * @param file a checkpoint: `state/checkpoint.json`, its previous generation, a damaged one, or a copy
 */
export async function inspectCheckpoint(files: FilePort, file: string): Promise<CheckpointInspection> {
  const bytes = await files.read(file, MAX_BYTES);
  if (bytes === undefined) return { ...NOTHING, file, condition: 'missing', problems: [`there is no file ${file}`] };
  const envelope = unseal(bytes);
  const format = envelope.kind === 'sealed' ? envelope.format : 0;
  const seen = { file, bytes: bytes.length, format };
  const decoded = decodeCheckpoint(bytes);
  if (decoded.kind === 'newer') {
    const problem = `it has format ${decoded.format}, which this version does not know: use the version that wrote it`;
    return { ...NOTHING, ...seen, condition: 'newer-format', problems: [problem] };
  }
  if (decoded.kind === 'document') {
    return { ...seen, condition: 'whole', ...(await contentsOf(files, file, decoded.document)) };
  }
  const document = salvage(bytes);
  const found = document === undefined ? NOTHING : await contentsOf(files, file, document);
  const problems = [`it cannot be used: ${decoded.problem}`, ...found.problems];
  const notes = document === undefined ? [] : ['this was read from a damaged file', ...found.notes];
  return { ...found, ...seen, condition: 'damaged', problems, notes };
}

type Known = Omit<CheckpointInspection, 'file' | 'condition' | 'bytes' | 'format'>;

async function contentsOf(files: FilePort, file: string, document: CheckpointDocument): Promise<Known> {
  const folder = path.join(path.dirname(file), 'devices');
  const hasFolder = (await files.list(folder)).length > 0;
  const conditionOf = async ({
    sha256,
    bytes,
  }: StoredAnswer): Promise<'unchecked' | 'missing' | 'file' | 'damaged'> => {
    if (!hasFolder) return 'unchecked';
    const found = await files.read(path.join(folder, sha256), bytes).catch(() => Buffer.alloc(0));
    if (found === undefined) return 'missing';
    return createHash('sha256').update(found).digest('hex') === sha256 ? 'file' : 'damaged';
  };
  const problems: string[] = [];
  const plugins: InspectedPlugin[] = [];
  for (const entry of document.plugins) {
    const { list: stored } = entry;
    const list = stored === undefined ? 'none' : stored.inline === undefined ? await conditionOf(stored) : 'inline';
    if (list === 'missing' || list === 'damaged') {
      problems.push(
        `the device list of ${entry.type}/${entry.name} is ${list}: its devices are unknown until it answers`,
      );
    }
    plugins.push(inspected(entry, list, document.bootId));
  }
  let isUnchecked = plugins.some(({ list }) => list === 'unchecked');
  for (const { id, answerFile } of document.leases) {
    const answer = answerFile === undefined ? 'inline' : await conditionOf(answerFile);
    if (answer === 'unchecked') isUnchecked = true;
    if (answer === 'missing' || answer === 'damaged')
      problems.push(`the answer of plugins for lease ${id} is ${answer}: they are asked again with its key`);
  }
  const note =
    'larger device lists and answers are files of their own, and there is no folder `devices` with them beside this file';
  const { generation, bootId, writtenAt, eventSeq, ledger } = document;
  return {
    ...{ generation, bootId, writtenAt, eventSeq, plugins },
    tombstones: document.tombstones.length,
    limits: document.limits.length,
    csiDrivers: [...new Set(document.plugins.filter(({ type }) => type === CSI_PLUGIN).map(({ name }) => name))],
    ledger,
    leases: document.leases.length,
    problems,
    notes: isUnchecked ? [note] : [],
  };
}

function inspected(entry: PluginEntry, list: ListCondition, bootId: string): InspectedPlugin {
  const { type, name, primary, door, uid, version, firstRegisteredAt, lastRegisteredAt, registrations } = entry;
  return {
    ...{ type, name, primary, door, endpoint: entry.endpointPath, socket: entry.socketPath, uid, version },
    ...{ firstRegisteredAt, lastRegisteredAt, registrations },
    confirmed: entry.bootId === bootId,
    devices: entry.list?.devices ?? -1,
    list,
  };
}

/** The legible members of a damaged file, if it is JSON with the members of a checkpoint. */
function salvage(bytes: Buffer): CheckpointDocument | undefined {
  return ifPossible(() => decodeDocument(JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>));
}
