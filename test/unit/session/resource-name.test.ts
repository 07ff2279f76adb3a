import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { checkResourceName } from '../../../src/session/resource-name.js';

const label = 'a'.repeat(63);
/** 244 characters, the longest vendor domain: the kubelet puts `requests.` before it, and 253 are allowed. */
const longest = [label, label, label, 'a'.repeat(52)].join('.');

describe('resource names, by the rule of the kubelet', () => {
  const accepted = [
    'nvidia.com/gpu',
    'example.com/a',
    'example.com/A',
    'example.com/0',
    'vendor/x',
    '0.1/x',
    'a-b.c-d/x_y.z-0',
    'example.com/constructor',
    'example.com/toString',
    `example.com/${'x'.repeat(63)}`,
    `${label}.com/x`,
    `${longest}/x`,
    'requests/x',
    'myrequests.com/x',
  ];
  for (const name of accepted) {
    it(`accepts ${name.slice(0, 40)}`, () => {
      assert.equal(checkResourceName(name), undefined);
    });
  }

  const refused: [name: string, why: RegExp][] = [
    ['', /vendor-domain\/resource/],
    ['gpu', /vendor-domain\/resource/],
    ['__proto__', /vendor-domain\/resource/],
    ['a.com/b/c', /vendor-domain\/resource/],
    ['kubernetes.io/x', /reserved/],
    ['a.kubernetes.io/x', /reserved/],
    ['requests.example.com/x', /begins with requests\. is a quota/],
    ['Example.com/x', /lower-case DNS/],
    ['exa_mple.com/x', /lower-case DNS/],
    ['-a.com/x', /lower-case DNS/],
    ['a-.com/x', /lower-case DNS/],
    ['a..com/x', /lower-case DNS/],
    ['.com/x', /lower-case DNS/],
    ['/x', /lower-case DNS/],
    ['a.com/', /second part/],
    ['a.com/-x', /second part/],
    ['a.com/x-', /second part/],
    ['a.com/__proto__', /second part/],
    ['a.com/x y', /second part/],
    ['a.com/x\n', /second part/],
    ['a.com/ü', /second part/],
    [`a.com/${'x'.repeat(64)}`, /more than 63/],
    [`${longest}a/x`, /more than 244/],
  ];
  for (const [name, why] of refused) {
    it(`refuses ${JSON.stringify(name.slice(0, 40))} and says why in one sentence`, () => {
      const sentence = checkResourceName(name);
      assert.match(sentence ?? '', why);
      assert.doesNotMatch(sentence ?? '', /[\n.]$/);
    });
  }

  it('is decided for any text at all, and shows little of it', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 1000 }), (name) => {
        const sentence = checkResourceName(name);
        assert.ok(sentence === undefined || sentence.length < 1000);
        if (sentence === undefined) assert.match(name, /^[-a-z0-9.]+\/[-A-Za-z0-9_.]+$/);
      }),
    );
  });
});
