import { describe, it } from 'node:test';
import { fuzzYaml } from '../support/yaml-fuzz.js';

const INPUTS = Number(process.env['PB_FUZZ_INPUTS'] ?? 40_000) / 4;
const FIRST_SEED = Number(process.env['PB_FUZZ_SEED'] ?? 1);

void describe('the text of a configuration file', () => {
  void it('is a configuration or a list of problems in any case', async () => {
    await fuzzYaml(FIRST_SEED, INPUTS);
  });
});
