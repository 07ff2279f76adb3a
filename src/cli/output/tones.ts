// The meanings of colours.
import picocolors from 'picocolors';

/** good: all is well. warn: look at it. bad: act. quiet: of little interest. */
export type Tone = 'good' | 'warn' | 'bad' | 'quiet' | 'bold' | 'plain';

/** Gives a text the colour of a tone. */
export type Paint = (tone: Tone, text: string) => string;

/** The painter of a terminal with colours, or one that leaves texts as they are. */
export function painter(hasColours: boolean): Paint {
  const colours = picocolors.createColors(hasColours);
  const tones = {
    good: colours.green,
    warn: colours.yellow,
    bad: colours.red,
    quiet: colours.dim,
    bold: colours.bold,
    plain: String,
  };
  return (tone, text) => tones[tone](text);
}

const BY_STATE: ReadonlyMap<string, Tone> = new Map([
  ['ready', 'good'],
  ['ok', 'good'],
  ['restored', 'warn'],
  ['restoring', 'warn'],
  ['stopping', 'warn'],
  ['connecting', 'warn'],
  ['held', 'warn'],
  ['orphaned', 'warn'],
  ['recovered', 'warn'],
  ['empty', 'plain'],
  ['gone', 'quiet'],
  ['fronted', 'good'],
  ['registering', 'warn'],
  ['speculating', 'warn'],
  ['no-kubelet', 'warn'],
  ['refused', 'bad'],
  ['too-large', 'bad'],
  ['degraded', 'bad'],
  ['rejected', 'bad'],
  ['quarantined', 'bad'],
  ['not-writable', 'bad'],
  ['newer-format', 'bad'],
]);

/** The tone of a state of a plugin, the broker, or the checkpoint. */
export function toneOfState(state: string): Tone {
  return BY_STATE.get(state) ?? 'plain';
}
