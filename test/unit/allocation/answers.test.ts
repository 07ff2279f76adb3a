import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answerProblem, reachProblem } from '../../../src/allocation/answers.js';
import type { PluginAnswer } from '../../../src/model/lease.js';
import { allocationWorld, FakeMachine, request } from '../../support/allocation-world.js';
import { NO_ANSWER } from '../../support/leases.js';

const PLUGIN = 4001;
const ENVS = { envs: new Map([['LD_PRELOAD', '/tmp/mine.so']]) };
const answer = (given: Partial<PluginAnswer>): PluginAnswer => ({ ...NO_ANSWER, ...given });

/** Answers that reach into the host, and how the refusal calls them. */
const REACHING: readonly [Partial<PluginAnswer>, RegExp][] = [
  [{ mounts: [{ hostPath: '/', containerPath: '/host', readOnly: false }] }, /^it has mounts, .*uid 4001/],
  [{ devices: [{ hostPath: '/dev/sda', containerPath: '/dev/sda', permissions: 'rwm' }] }, /^it has device nodes, /],
  [{ cdiDevices: ['vendor.example/gpu=0'] }, /^it has CDI devices, /],
];

describe('the answer of a plugin of an ordinary user', () => {
  for (const [given, words] of REACHING) {
    it(`that has ${Object.keys(given).join()} is not handed on, to that user neither`, () => {
      for (const owner of [0, PLUGIN]) assert.match(reachProblem(answer(given), PLUGIN, owner) ?? '', words);
    });
  }

  it('that has variables is handed on to that user alone', () => {
    assert.equal(reachProblem(answer(ENVS), PLUGIN, PLUGIN), undefined);
    assert.match(reachProblem(answer(ENVS), PLUGIN, 0) ?? '', /^it has variables for uid 0, .*rules\[\]\.uids/);
    assert.match(reachProblem(answer(ENVS), PLUGIN, 4002) ?? '', /^it has variables for uid 4002, /);
    const annotated = answer({ annotations: new Map([['run.oci.hooks.stdin', 'x']]) });
    assert.equal(reachProblem(annotated, PLUGIN, PLUGIN), undefined);
    assert.match(reachProblem(annotated, PLUGIN, 0) ?? '', /^it has annotations for uid 0, /);
  });

  it('costs the lease, with a reason, and leaves nothing marked; that of a plugin whom a rule names does not', async () => {
    const machine = new FakeMachine();
    const resource = machine.offer('v/gpu', 'g0');
    resource.stranger = PLUGIN;
    resource.allocate = () => Promise.resolve(answer(ENVS));
    const { allocations } = await allocationWorld(machine);
    const allocate = (uid: number) =>
      allocations.allocate(
        request('v/gpu', { key: String(uid) }),
        { uid, process: undefined },
        new AbortController().signal,
      );
    const refused = await allocate(0);
    assert.ok(!refused.ok);
    assert.equal(refused.refusal.code, 'PLUGIN_FAILED');
    assert.match(refused.refusal.message, /the plugin of v\/gpu for g0 cannot be used: it has variables for uid 0/);
    assert.equal(allocations.leases().length, 0);
    delete resource.stranger;
    const given = await allocate(0);
    assert.ok(given.ok);
    assert.equal(given.value.answer.envs.get('LD_PRELOAD'), '/tmp/mine.so');
  });

  it('has the variables of a rule, whose values are ids that the plugin chose', async () => {
    const machine = new FakeMachine();
    const resource = machine.offer('v/gpu', 'all');
    resource.stranger = PLUGIN;
    const env = new Map([['VISIBLE_DEVICES', 'ids'] as const]);
    const rules = { allocateOf: () => ({ uids: undefined, max: undefined, consumer: undefined, env }) };
    const { allocations } = await allocationWorld(machine, { rules });
    const allocate = (uid: number) =>
      allocations.allocate(request('v/gpu', { key: 'k' }), { uid, process: undefined }, new AbortController().signal);
    const refused = await allocate(0);
    assert.match(refused.ok ? '' : refused.refusal.message, /cannot be used: it has variables for uid 0/);
    delete resource.stranger;
    const given = await allocate(0);
    assert.equal(given.ok && given.value.answer.envs.get('VISIBLE_DEVICES'), 'all');
  });
});

describe('the name of a CDI device', () => {
  const problem = (name: string): string | undefined => answerProblem(answer({ cdiDevices: [name] }));

  for (const name of ['vendor.example/gpu=0', 'nvidia.com/gpu=GPU-1:2.3_4', 'a/b=c']) {
    it(`${name} is one`, () => assert.equal(problem(name), undefined));
  }

  for (const name of [
    '',
    'gpu=0',
    'v/gpu',
    'v/gpu=',
    'v/gpu=0 --privileged',
    'v/g/u=0',
    "v/gpu='",
    'v/gpu=0\n',
    'v/gpu=é',
  ]) {
    it(`${JSON.stringify(name)} is none`, () => assert.match(problem(name) ?? '', /is no CDI device/));
  }
});
