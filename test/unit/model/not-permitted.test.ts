import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mayNotConnect } from '../../../src/model/not-permitted.js';

describe('the sentence for a socket that the broker may not connect to', () => {
  const sentence = (uid: number | undefined): string => mayNotConnect({ path: '/x.sock', uid }, 'EACCES', 1000);
  const begin = 'the broker runs as uid 1000 and may not connect to /x.sock (EACCES); run the broker as root';

  it('names the owner of the socket as the user to run as, beside root', () => {
    assert.equal(
      sentence(4001),
      `${begin} or as uid 4001, which the socket belongs to, or let the plugin open it to uid 1000`,
    );
  });

  it('names the user of the plugin where the owner is not known', () => {
    assert.equal(sentence(undefined), `${begin} or as the user of the plugin or let the plugin open it to uid 1000`);
  });

  it("names root alone where the socket is root's, or the broker's own user's", () => {
    assert.equal(sentence(0), `${begin}, which the socket belongs to, or let the plugin open it to uid 1000`);
    assert.equal(sentence(1000), `${begin} or let the plugin open it to uid 1000`);
  });
});
