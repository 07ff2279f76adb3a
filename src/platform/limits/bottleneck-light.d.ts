// Bottleneck without its Redis part, which is the same class; only the whole package comes with types.
declare module 'bottleneck/light.js' {
  import Bottleneck from 'bottleneck';
  export = Bottleneck;
}
