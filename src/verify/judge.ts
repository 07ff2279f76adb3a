// Runs one scenario and gives the verdict. The broker is proved to work before the plugin is judged.
import { proveBroker } from './probe.js';
import type { Rig } from './rig.js';
import type { Scenario } from './scenario.js';
import { times } from './subject.js';
import { BrokerFault, Failed, Skipped, type Passed, type ScenarioResult } from './verdict.js';

/**
 * Runs a scenario on a rig.
 *
 * @param prove shows that the broker was fine
 * @throws the error that ended the run before there was a verdict
 */
export async function judge(scenario: Scenario, rig: Rig, prove = proveBroker): Promise<ScenarioResult> {
  const startedAt = Date.now();
  const beganAt = performance.now();
  const seen = await outcomeOf(() => scenario.run(rig));
  const spentMs = performance.now() - beganAt;
  const { verdict, code, evidence, at } = seen.verdict === 'skipped' ? seen : await proven(seen, rig, prove);
  return {
    name: scenario.name,
    verdict,
    code,
    startedAt,
    at,
    seconds: Math.round(spentMs / 100) / 10,
    evidence: verdict === 'skipped' ? evidence : `${evidence}${asides(rig, evidence)}`,
    timeline: rig.witness.timeline(),
    output: rig.subject.output(),
  };
}

type Outcome = Pick<ScenarioResult, 'verdict' | 'code' | 'evidence' | 'at'>;

async function outcomeOf(work: () => Promise<string | Passed>): Promise<Outcome> {
  try {
    const found = await work();
    const { code, evidence } = typeof found === 'string' ? { code: 'ok' as const, evidence: found } : found;
    return { verdict: 'passed', code, evidence, at: [Date.now()] };
  } catch (thrown) {
    if (thrown instanceof Failed) {
      return { verdict: 'failed', code: thrown.code, evidence: thrown.message, at: thrown.at };
    }
    if (thrown instanceof Skipped) return { verdict: 'skipped', code: thrown.code, evidence: thrown.message, at: [] };
    if (thrown instanceof BrokerFault) return brokerFault(thrown);
    throw thrown;
  }
}

/** Nothing is said of a plugin whose broker was not fine, and nothing against one whose machine was too slow. */
async function proven(
  seen: Outcome,
  { broker, directories, witness, changes }: Rig,
  prove: typeof proveBroker,
): Promise<Outcome> {
  if (!broker.isRunning) return seen;
  broker.order([{ kind: 'none' }]);
  try {
    const isPrompt = await prove(directories, witness, changes);
    if (isPrompt || seen.verdict === 'passed') return seen;
    const evidence = `this machine was too busy to judge it, having seen: ${seen.evidence}`;
    return { verdict: 'skipped', code: 'machine-busy', evidence, at: seen.at };
  } catch (thrown) {
    if (thrown instanceof BrokerFault) return brokerFault(thrown);
    throw thrown;
  }
}

function brokerFault({ message }: BrokerFault): Outcome {
  const evidence = `nothing can be said, the broker was at fault: ${message}`;
  return { verdict: 'skipped', code: 'broker-fault', evidence, at: [] };
}

/** More than this is said: a log that grows like that fills a node's disk. */
const LOUD_BYTES = 10_000_000;

/** Further facts for an operator: ends that were not reported, and excessive output. */
function asides({ subject }: Rig, evidence: string): string {
  const said: string[] = [];
  const { ends, written } = subject;
  if (ends.length > 0 && !/\b(ended|exited)\b/.test(evidence)) {
    said.push(`it ended by itself ${times(ends.length)} and was started again`);
  }
  if (written >= LOUD_BYTES) said.push(`it wrote ${Math.round(written / 1e6)} MB, of which the end is kept`);
  return said.length === 0 ? '' : ` (${said.join('; ')})`;
}
