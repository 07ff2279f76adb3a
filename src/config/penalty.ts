// `penalty` as it is written, in figures: a rule gives its differences, and `off` means that nothing is a strike.
import type { PenaltySettings } from '../model/settings.js';
import { STANDARD_PENALTY } from '../model/standard-penalty.js';
import type { PenaltyForm, Written } from './file-form.js';

/**
 * The penalty in force; 0 strikes stand for `off`: nothing is a strike. A rule that gives figures while `flood` says `off` takes
 * the remaining figures from the default.
 */
export function penaltyFigures(
  form: PenaltyForm,
  rule: Partial<Written<PenaltySettings>> | 'off' = {},
): Written<PenaltySettings> {
  if (rule === 'off') return { ...STANDARD_PENALTY, strikes: 0 };
  if (form !== 'off') return { ...form, ...rule };
  const isAsked = Object.keys(rule).length > 0;
  return isAsked ? { ...STANDARD_PENALTY, ...rule } : { ...STANDARD_PENALTY, strikes: 0 };
}
