// Everything that can be said to `sim dra`.
import { lifeOptions, placeOptions, type DriverSimOptions } from '../driver-options.js';
import { option, wordsOf, type SimOption } from '../sim-option.js';

const SERVED = ['v1', 'v1beta1'] as const;

/** The options of a simulated DRA driver; durations are milliseconds. */
export interface DraSimOptions extends DriverSimOptions {
  /** Names its sockets apart from those of another instance of the driver, as a rolling update does. */
  readonly instance?: string;
  readonly services: string;
  readonly serve: readonly (typeof SERVED)[number][];
  readonly pluginType: string;
}

/** The options in the order in which help shows them. */
export const DRA_SIM_OPTIONS: readonly SimOption<keyof DraSimOptions>[] = [
  ...placeOptions('dra.sim.example.com'),
  option('instance', 'uid', 'put this into the names of the sockets, as a rolling update does'),
  option('services', 'names', 'services to offer, with commas', { default: 'v1.DRAPlugin,v1beta1.DRAPlugin' }),
  option('serve', 'versions', 'services that are really there, with commas: v1, v1beta1', {
    parse: wordsOf(SERVED),
    default: [...SERVED],
  }),
  option('pluginType', 'type', 'type that GetInfo names', { default: 'DRAPlugin' }),
  ...lifeOptions(['NodePrepareResources', 'NodeUnprepareResources']),
];
