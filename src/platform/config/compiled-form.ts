// The compiled form of the schema, as the daemon uses it: yes or no, defaults filled in, no package loaded.
import type { ConfigForm } from '../../config/file-form.js';
import { defaultForm as generatedDefaults, isForm } from '../../generated/config-form.js';

/** The form of an empty file. */
export const defaultForm: ConfigForm = generatedDefaults as ConfigForm;

/** Fills the defaults into a document. Undefined when it has not the form of a configuration; it may be changed then. */
export function completeForm(document: unknown): ConfigForm | undefined {
  return isForm(document) ? (document as ConfigForm) : undefined;
}
