// The default of `flood.penalty`.

/** The penalty of a configuration that does not speak of it, as it is written there. */
export const STANDARD_PENALTY = { strikes: 10, window: '60s', quarantine: '60s', factor: 2, max: '10m' } as const;
