import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { Timeline } from '../../../src/journal/timeline.js';
import type { BrokerEvent } from '../../../src/model/event.js';

function event(seq: number, plugin: string, more: Partial<BrokerEvent> = {}): BrokerEvent {
  return { time: '', seq, type: 'state', reason: '', plugin, socket: '', message: '', ...more };
}

function seqs(events: readonly BrokerEvent[]): readonly number[] {
  return events.map(({ seq }) => seq);
}

describe('the timeline', () => {
  it('keeps the last 50 of each plugin, however loud another is', () => {
    const timeline = new Timeline();
    for (let seq = 1; seq <= 60; seq += 1) timeline.add(event(seq, 'quiet'));
    for (let seq = 61; seq <= 5000; seq += 1) timeline.add(event(seq, 'loud'));
    assert.deepEqual(
      seqs(timeline.lastOf('quiet')),
      Array.from({ length: 50 }, (_, index) => 11 + index),
    );
    assert.equal(timeline.lastOf('loud').length, 50);
    assert.deepEqual(timeline.lastOf('__proto__'), []);
  });

  it('keeps no more than 16 MiB of all, of which a quiet plugin has its part, however many names are loud', () => {
    const timeline = new Timeline();
    for (let seq = 1; seq <= 20; seq += 1) timeline.add(event(seq, 'quiet', { message: 'm'.repeat(100) }));
    let [seq, most] = [20, 0];
    const bytes = (): number => timeline.since(0).reduce((sum, { message }) => sum + 150 + message.length, 0);
    for (let round = 0; round < 40; round += 1) {
      for (let nth = 0; nth < 2000; nth += 1)
        timeline.add(event((seq += 1), `loud-${String(nth)}`, { message: 'm'.repeat(1000) }));
      if (round > 10) most = Math.max(most, bytes());
    }
    assert.ok(most > 12 * 2 ** 20 && most < 17.5 * 2 ** 20, `${String(most)} bytes`);
    assert.equal(timeline.lastOf('quiet').length, 20);
    assert.equal(timeline.lastOf('loud-7').at(-1)?.seq, seq - 2000 + 8);
  });

  it('gives all that is kept of one plugin: its last, and those among the newest of all', () => {
    const timeline = new Timeline();
    for (let seq = 1; seq <= 60; seq += 1) timeline.add(event(seq, 'T/quiet'));
    for (let seq = 61; seq <= 1660; seq += 1)
      timeline.add(event(seq, seq % 2 === 0 ? 'T/loud' : '', { type: 'broker' }));
    const all = timeline.since(0);
    for (const plugin of ['T/quiet', 'T/loud']) {
      assert.deepEqual(
        timeline.keptOf(plugin),
        all.filter((one) => one.plugin === plugin),
      );
    }
    assert.deepEqual(timeline.keptOf('T/none'), []);
    assert.deepEqual(timeline.plugins(), ['T/quiet', 'T/loud']);
  });

  it('finds the newest events of a socket in turns with everything else', async () => {
    const timeline = new Timeline();
    const socketOf = (seq: number): string => (seq % 10 === 0 ? '/rare' : '/often');
    for (let seq = 1; seq <= 40_000; seq += 1) {
      timeline.add(event(seq, `T/${String(seq % 2000)}`, { socket: socketOf(Math.floor(seq / 2000)) }));
    }
    for (const socket of ['/rare', '/often', '/none']) {
      let rests = 0;
      const rest = async (): Promise<void> => void (rests += 1);
      const wanted = (one: BrokerEvent): boolean => one.socket === socket;
      const found = seqs(await timeline.find(wanted, rest));
      assert.deepEqual(found, seqs(timeline.since(0).filter(wanted)).slice(-500));
      assert.ok(rests >= 30, `${String(rests)} rests`);
    }
  });

  it('gives all that is kept once and in order', () => {
    const timeline = new Timeline();
    for (let seq = 1; seq <= 60; seq += 1) timeline.add(event(seq, 'quiet'));
    for (let seq = 61; seq <= 5000; seq += 1) timeline.add(event(seq, seq % 2 === 0 ? 'loud' : 'louder'));
    const all = seqs(timeline.since(0));
    assert.deepEqual(
      all,
      [...new Set(all)].sort((a, b) => a - b),
    );
    assert.equal(all.length, 50 + 1000);
    assert.deepEqual(seqs(timeline.since(4998)), [4998, 4999, 5000]);
    assert.deepEqual(seqs(timeline.since(60)).slice(0, 2), [60, 4001]);
    assert.deepEqual(seqs(timeline.since(5001)), []);
  });

  it('forgets the plugins that were silent longest when there are too many', () => {
    const timeline = new Timeline();
    for (let seq = 1; seq <= 2048; seq += 1) timeline.add(event(seq, `p${seq}`));
    timeline.add(event(2049, 'p1'));
    timeline.add(event(2050, 'new'));
    assert.equal(timeline.lastOf('p1').length, 2);
    assert.equal(timeline.lastOf('p2').length, 0);
    assert.equal(timeline.lastOf('p3').length, 1);
  });

  it('forgets no admitted plugin for names that were only refused, of which few are kept', () => {
    const timeline = new Timeline();
    for (const type of ['state', 'refused'] as const) timeline.add(event(1, 'honest', { type }));
    for (let seq = 2; seq <= 9000; seq += 1) {
      timeline.add(event(seq, `p${seq % 3000}`, { type: 'refused', message: '\u0001'.repeat(170) }));
    }
    assert.deepEqual(seqs(timeline.lastOf('honest')), [1, 1]);
    const kept = Array.from({ length: 3000 }, (_, nth) => timeline.lastOf(`p${nth}`)).filter(
      ({ length }) => length > 0,
    );
    assert.equal(kept.length, 256);
    timeline.add(event(9001, 'p2999', { type: 'registered' }));
    for (let seq = 9002; seq <= 9600; seq += 1) timeline.add(event(seq, `q${seq}`, { type: 'refused' }));
    assert.deepEqual(seqs(timeline.lastOf('p2999')), [8999, 9001], 'it came in');
  });

  it('counts no name as one that came in because its plugin was asked: it may answer with an error', () => {
    const timeline = new Timeline();
    timeline.add(event(1, 'honest', { type: 'registered' }));
    const newcomer = { facts: { state: 'connecting', newcomer: 1 } };
    for (let seq = 2; seq <= 9000; seq += 2) {
      timeline.add(event(seq, `p${seq}`, { reason: 'registering', ...newcomer }));
      timeline.add(event(seq + 1, `p${seq}`, { type: 'refused' }));
    }
    assert.deepEqual(seqs(timeline.lastOf('honest')), [1]);
    assert.equal(timeline.plugins().length, 257);
    timeline.add(event(9002, 'honest', { reason: 'registering', ...newcomer }));
    for (let seq = 9003; seq <= 9600; seq += 1) timeline.add(event(seq, `q${seq}`, { type: 'refused' }));
    assert.deepEqual(seqs(timeline.lastOf('honest')), [1, 9002], 'its name came in');
  });

  it('keeps the history of a plugin however often others are refused in its name, and some of those refusals', () => {
    const timeline = new Timeline();
    const by = { type: 'refused', facts: { by: 4001 } } as const;
    timeline.add(event(1, 'honest', { type: 'registered' }));
    for (let seq = 2; seq <= 60; seq += 1) timeline.add(event(seq, 'honest', by));
    timeline.add(event(61, 'honest'));
    for (let seq = 62; seq <= 2000; seq += 1) timeline.add(event(seq, 'loud'));
    const kept = [1, ...Array.from({ length: 50 }, (_, index) => 11 + index), 61];
    assert.deepEqual(seqs(timeline.lastOf('honest')), kept);
    assert.deepEqual(seqs(timeline.keptOf('honest')), kept);
    assert.deepEqual(seqs(timeline.since(0)).slice(0, kept.length), kept);
    assert.deepEqual(timeline.plugins(), ['honest', 'loud']);
    for (let seq = 2001; seq <= 2300; seq += 1) timeline.add(event(seq, `p${seq}`, by));
    assert.deepEqual(seqs(timeline.lastOf('honest')), [1, 61], 'those of 256 names are kept');
  });

  it('keeps the history of a plugin however often its devices are given and come back, and some of the leases', () => {
    const timeline = new Timeline();
    timeline.add(event(1, 'honest', { type: 'registered' }));
    timeline.add(event(2, 'honest', { type: 'refused' }));
    for (let seq = 3; seq <= 2400; seq += 1) {
      timeline.add(event(seq, 'honest', { type: seq % 2 === 0 ? 'allocated' : 'released', message: 'm'.repeat(300) }));
    }
    for (const kept of [timeline.lastOf('honest'), timeline.keptOf('honest'), timeline.since(0)])
      assert.deepEqual(seqs(kept).slice(0, 2), [1, 2]);
    const leases = seqs(timeline.lastOf('honest')).slice(2);
    assert.deepEqual([leases.length, leases.at(-1)], [50, 2400]);
    assert.deepEqual(timeline.plugins(), ['honest']);
    for (let seq = 2401; seq <= 3000; seq += 1) timeline.add(event(seq, `p${String(seq)}`, { type: 'allocated' }));
    assert.deepEqual(seqs(timeline.lastOf('honest')), [1, 2], 'those of 512 plugins are kept');
  });

  it('keeps what happened to the broker however many sockets without a plugin are refused', () => {
    const timeline = new Timeline();
    const own = ['broker', 'checkpoint', 'discovery', 'operator', 'policy'] as const;
    for (const [nth, type] of own.entries()) timeline.add(event(nth + 1, '', { type }));
    for (let seq = 6; seq <= 3000; seq += 1) {
      const type = seq % 2 === 0 ? 'refused' : 'connection';
      timeline.add(event(seq, '', { type, socket: `/s${String(seq)}` }));
    }
    assert.deepEqual(seqs(timeline.since(0)).slice(0, own.length), [1, 2, 3, 4, 5]);
    assert.deepEqual(seqs(timeline.lives()), [1]);
    assert.deepEqual(timeline.plugins(), []);
    timeline.prepend([event(0, '', { type: 'checkpoint' })]);
    assert.deepEqual(seqs(timeline.since(0)).slice(0, 3), [0, 1, 2]);
  });

  it('keeps of each plugin what its bytes as they are written leave room for', () => {
    const timeline = new Timeline();
    const message = '\u0001'.repeat(170);
    for (let seq = 1; seq <= 60; seq += 1) timeline.add(event(seq, 'refused', { type: 'refused', message }));
    for (let seq = 61; seq <= 120; seq += 1) timeline.add(event(seq, 'ready', { message }));
    assert.deepEqual(seqs(timeline.lastOf('refused')), [55, 56, 57, 58, 59, 60]);
    assert.equal(timeline.lastOf('ready').length, 27);
  });

  it('puts an earlier life before the present one', () => {
    const timeline = new Timeline();
    for (let seq = 100; seq <= 130; seq += 1) timeline.add(event(seq, 'a'));
    timeline.prepend(Array.from({ length: 105 }, (_, index) => event(index + 1, 'a')));
    assert.deepEqual(
      seqs(timeline.lastOf('a')),
      Array.from({ length: 50 }, (_, index) => 81 + index),
    );
    assert.deepEqual(
      seqs(timeline.since(0)),
      Array.from({ length: 130 }, (_, index) => index + 1),
    );
  });
});
