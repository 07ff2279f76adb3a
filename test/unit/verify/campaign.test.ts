import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PluginPicture } from '../../../src/model/fault-port.js';
import { runCampaign, type Campaign } from '../../../src/verify/campaign.js';
import type { OpenRig, RigFactory } from '../../../src/verify/rig-factory.js';
import type { Rig } from '../../../src/verify/rig.js';
import { firstList } from '../../../src/verify/scenarios/first-list.js';

const CAMPAIGN: Campaign = {
  ...{ scenarios: [firstList], warns: new Set<string>(), repeat: 1, isFailFast: false },
  profile: 'broker',
};
const silent = (): void => undefined;

describe('a campaign', () => {
  it('says what came up, also when it is ended in its first scenario', async () => {
    const plugins = [{ name: 'a.example/x', door: 'register' }] as unknown as readonly PluginPicture[];
    const ended = new Error('the run was ended');
    const rig = { plugins, arrive: () => Promise.resolve(), comeUp: () => Promise.reject(ended) } as unknown as Rig;
    const open: OpenRig = { rig, ended: silent, close: () => Promise.resolve() };
    const rigs = { isOurs: true, make: () => open } as unknown as RigFactory;
    const seen: unknown[] = [];
    const progress = { began: silent, step: silent, ended: silent };
    await assert.rejects(
      runCampaign(CAMPAIGN, rigs, new AbortController(), progress, (found) => void seen.push(found)),
      ended,
    );
    assert.deepEqual(seen, [plugins]);
  });
});
