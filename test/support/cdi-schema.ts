// The published rules for CDI files of version 0.5.0, written down from the specification: which fields there are, which
// must be there, and how names are made. Readers refuse fields they do not know.
import * as z from 'zod';

const path = z.string().regex(/^\//);

/** One file. */
export const cdiFile = z
  .strictObject({
    cdiVersion: z.literal('0.5.0'),
    kind: z.string().regex(/^[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?\/[A-Za-z]([A-Za-z0-9_-]*[A-Za-z0-9])?$/),
    devices: z
      .array(
        z.strictObject({
          name: z.string().regex(/^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$/),
          containerEdits: z.lazy(() => edits),
        }),
      )
      .min(1),
    containerEdits: z.lazy(() => edits).optional(),
  })
  .refine(({ devices }) => new Set(devices.map(({ name }) => name)).size === devices.length, 'a device twice');

const edits = z.strictObject({
  env: z.array(z.string().regex(/^[^=]+=/)).optional(),
  deviceNodes: z
    .array(
      z.strictObject({
        path,
        hostPath: path.optional(),
        type: z.enum(['b', 'c', 'u', 'p']).optional(),
        major: z.int().optional(),
        minor: z.int().optional(),
        fileMode: z.int().optional(),
        permissions: z
          .string()
          .regex(/^[rwm]*$/)
          .optional(),
        uid: z.int().min(0).optional(),
        gid: z.int().min(0).optional(),
      }),
    )
    .optional(),
  mounts: z
    .array(
      z.strictObject({
        hostPath: path,
        containerPath: path,
        type: z.string().optional(),
        options: z.array(z.string()).optional(),
      }),
    )
    .optional(),
  hooks: z
    .array(
      z.strictObject({
        hookName: z.enum(['prestart', 'createRuntime', 'createContainer', 'startContainer', 'poststart', 'poststop']),
        path,
        args: z.array(z.string()).optional(),
        env: z.array(z.string().regex(/^[^=]+=/)).optional(),
        timeout: z.int().min(0).optional(),
      }),
    )
    .optional(),
});
