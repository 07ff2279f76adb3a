// The kinds of values in a configuration. The message of each names the expected value; the explanation of a problem and its
// remedy are made of that. Only kinds that JSON Schema has too: the daemon checks by a compiled form of it.
import * as z from 'zod';

const saying = (expected: string): { error: () => string } => ({ error: () => expected });

/** A duration above zero. */
export const duration = z
  .string(saying('a duration above zero such as 250ms, 2s, 5m or 1h'))
  .regex(/^[1-9][0-9]{0,8}(ms|s|m|h)$/, saying('a duration above zero such as 250ms, 2s, 5m or 1h'));

/** A duration that may be `0s`. */
export const durationOrZero = z
  .string(saying('a duration such as 0s, 250ms, 2s, 5m or 1h'))
  .regex(/^(0|[1-9][0-9]{0,8})(ms|s|m|h)$/, saying('a duration such as 0s, 250ms, 2s, 5m or 1h'));

const SIZE_WORDS = 'a size above zero, in bytes or such as 64KiB, 16MiB or 1GiB';

/** A size above zero and at most 1 TiB. */
export const size = z.union(
  [
    z
      .int(saying(SIZE_WORDS))
      .min(1, saying(SIZE_WORDS))
      .max(2 ** 40, saying(SIZE_WORDS)),
    z.string(saying(SIZE_WORDS)).regex(/^([1-9][0-9]{0,5}(KiB|MiB)|[1-9][0-9]{0,2}GiB)$/, saying(SIZE_WORDS)),
  ],
  saying(SIZE_WORDS),
);

/** A whole number. */
export function count(min: number, max: number): z.ZodInt {
  const expected = saying(`a whole number from ${min} to ${max}`);
  return z.int(expected).min(min, expected).max(max, expected);
}

/** One of a few words. */
export function choice<const T extends readonly [string, ...string[]]>(
  ...words: T
): z.ZodEnum<{ [K in T[number]]: K }> {
  return z.enum(words, saying(`one of ${words.join(', ')}`));
}

/** Text that is not empty and has no control characters. */
export const text = z
  .string(saying('text'))
  .regex(/^[^\u0000-\u001f\u007f]{1,1024}$/, saying('text of 1 to 1024 characters without control characters'));

/** Text that may be empty. */
export const optionalText = z
  .string(saying('text'))
  .regex(/^[^\u0000-\u001f\u007f]{0,1024}$/, saying('text of at most 1024 characters without control characters'));

/** Yes or no. */
export const flag = z.boolean(saying('true or false'));

/** The name of an environment variable. */
export const envName = z
  .string(saying('the name of a variable such as CUDA_VISIBLE_DEVICES'))
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, saying('the name of a variable such as CUDA_VISIBLE_DEVICES'));

/** Vendor and class of CDI names. */
export const cdiKind = z
  .string(saying('a CDI kind such as example.com/device'))
  .regex(
    /^[A-Za-z]([A-Za-z0-9_.-]{0,125}[A-Za-z0-9])?\/[A-Za-z]([A-Za-z0-9_-]{0,125}[A-Za-z0-9])?$/,
    saying('a CDI kind such as example.com/device'),
  );

/** A glob. */
export const glob = z
  .string(saying('a glob such as nvidia.com/*'))
  .regex(/^[^\u0000-\u001f\u007f]{1,256}$/, saying('a glob of 1 to 256 characters such as nvidia.com/*'));

/** An absolute path. */
export const absolutePath = z
  .string(saying('an absolute path'))
  .regex(/^\/[^\u0000-\u001f\u007f]{0,1023}$/, saying('an absolute path'));

const MODE_WORDS = "an octal file mode in quotes such as '0755' or '0775'";

/** A file mode. A number is refused: YAML reads 0755 as seven hundred and fifty-five. */
export const fileMode = z.string(saying(MODE_WORDS)).regex(/^0?[0-7]{3}$/, saying(MODE_WORDS));

const GROUP_WORDS = 'the name or number of a group, or inherit';

/** A group of the machine. */
export const group = z.union(
  [
    count(0, 4_294_967_294),
    z.string(saying(GROUP_WORDS)).regex(/^[^\u0000-\u0020\u007f:,]{1,64}$/, saying(GROUP_WORDS)),
  ],
  saying(GROUP_WORDS),
);

/** User ids; 2^32-1 is no uid. */
export const uids = z.array(count(0, 4_294_967_294), saying('a list of uids such as [0, 1000]'));

/** A list. */
export function list<T extends z.ZodType>(item: T, of: string): z.ZodArray<T> {
  return z.array(item, saying(`a list of ${of}`));
}

/** A section in which every key may be left out. */
export function section<T extends z.core.$ZodLooseShape>(shape: T): z.ZodObject<T, z.core.$strict> {
  return z.strictObject(shape, { error: (issue) => (issue.code === 'invalid_type' ? 'a section of keys' : undefined) });
}

/** A section, or the word `off` in its place. */
export function orOff<T extends z.ZodType>(form: T): z.ZodUnion<readonly [z.ZodLiteral<'off'>, T]> {
  return z.union([z.literal('off'), form], saying('off or a section of keys'));
}

const RULE_NAME = 'a name of letters, digits, dots, dashes and underscores, at most 63 of them, such as three-a-minute';

/** The name of a rule. It stands in events, in labels of metrics and in tables. */
export const ruleName = z
  .string({ error: () => RULE_NAME })
  .regex(/^[a-z0-9][a-z0-9._-]{0,62}$/i, { error: () => RULE_NAME });
