import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DiscoveryBed as Bed } from '../../support/discovery-bed.js';

describe('discovery', () => {
  it('takes no socket as gone, and finds none, while the directory does not answer', async () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.discovery.start();
    assert.deepEqual(bed.news(), ['+/r/a#1']);
    bed.isSilent = true;
    bed.discovery.look('/r/a');
    bed.discovery.look('/r/new');
    bed.discovery.rescan();
    await bed.clock.advance(30_000);
    assert.deepEqual(bed.news(), []);
    bed.isSilent = false;
    bed.sockets.remove('/r/a');
    bed.discovery.rescan();
    await bed.clock.advance(10_000);
    assert.deepEqual(bed.news(), ['-/r/a#1']);
    bed.discovery.stop();
  });

  it('finds what is there at its start', () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.sockets.put('/r/d/b');
    bed.discovery.start();
    assert.deepEqual(bed.news(), ['+/r/a#1', '+/r/d/b#2']);
    assert.equal(bed.sockets.openPins, 2);
  });

  it('looks at a start in one go at what is expected, and of the rest at no more than an ordinary directory holds', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 1500; nth += 1) bed.sockets.put(`/r/many/${String(nth)}`);
    bed.sockets.put('/r/own');
    bed.expected = ['/r/own'];
    bed.lookMs = 1;
    bed.discovery.start();
    assert.equal(bed.news()[0], '+/r/own#1501');
    assert.ok(bed.looks >= 1024 && bed.looks <= 1 + 1024 + 3, `${String(bed.looks)} in one go`);
    await bed.clock.advance(60_000);
    assert.equal(bed.discovery.size, 1501);
    bed.discovery.stop();
  });

  it('looks where a hint says, and believes only what it finds', () => {
    const bed = new Bed();
    bed.discovery.start();
    bed.discovery.look('/r/nothing');
    bed.sockets.put('/r/a');
    bed.discovery.look('/r/a');
    bed.discovery.look('/r/a');
    assert.deepEqual(bed.news(), ['+/r/a#1']);
  });

  it('tells a socket that was replaced in place by its incarnation, the old one first', () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.discovery.start();
    bed.news();
    bed.sockets.put('/r/a');
    bed.discovery.look('/r/a');
    assert.deepEqual(bed.news(), ['-/r/a#1 replaced', '+/r/a#2']);
    assert.equal(bed.sockets.openPins, 1);
  });

  it('tells a socket that went, and lets it go', () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.discovery.start();
    bed.news();
    bed.sockets.remove('/r/a');
    bed.discovery.look('/r/a');
    assert.deepEqual(bed.news(), ['-/r/a#1']);
    assert.deepEqual([bed.sockets.openPins, bed.discovery.size], [0, 0]);
  });

  it('looks below a directory that went, and below no other', () => {
    const bed = new Bed();
    for (const path of ['/r/d/a', '/r/d/e/b', '/r/dd/c']) bed.sockets.put(path);
    bed.discovery.start();
    bed.news();
    for (const path of ['/r/d/a', '/r/d/e/b', '/r/dd/c']) bed.sockets.remove(path);
    bed.below.set('/r/d', { isOther: true });
    bed.discovery.look('/r/d');
    assert.deepEqual(bed.news(), ['-/r/d/a#1', '-/r/d/e/b#2']);
  });

  it('looks a little at a time below a directory that is exchanged again and again, and in a fifth of the time', async () => {
    const bed = new Bed();
    for (let nth = 0; nth < 250; nth += 1) bed.sockets.put(`/r/own/t/${String(nth)}`);
    bed.discovery.start();
    bed.lookMs = 0.5;
    bed.below.set('/r/own/t', { isOther: true, entries: bed.sockets.paths() });
    const before = bed.looks;
    for (let nth = 0; nth < 100; nth += 1) {
      const looks = bed.looks;
      bed.discovery.look('/r/own/t');
      assert.ok(bed.looks - looks <= 7, `${String(bed.looks - looks)} looks in one turn`);
      await bed.clock.advance(10);
    }
    const tookMs = (bed.looks - before) * bed.lookMs;
    assert.ok(tookMs < 400, `${String(tookMs)} ms of 1 s`);
    bed.discovery.stop();
  });

  it('looks at what is in a directory that came, below further ones too', () => {
    const bed = new Bed();
    bed.discovery.start();
    for (const path of ['/r/d/a', '/r/d/e/b', '/r/d/.c']) bed.sockets.put(path);
    bed.below.set('/r/d', { isOther: false, entries: ['/r/d/a', undefined, '/r/d/e'] });
    bed.below.set('/r/d/e', { isOther: false, entries: ['/r/d/e/b'] });
    bed.discovery.look('/r/d');
    assert.deepEqual(bed.news(), ['+/r/d/a#1', '+/r/d/e/b#2']);
  });

  it('ignores hidden names', () => {
    const bed = new Bed();
    bed.sockets.put('/r/.a');
    bed.sockets.put('/r/.d/b');
    bed.discovery.start();
    bed.discovery.look('/r/.a');
    bed.discovery.look('/r/.d/b');
    assert.deepEqual(bed.news(), []);
  });

  it('catches what no event told with each rescan, and lets others look then, too', async () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.discovery.start();
    bed.news();
    bed.sockets.put('/r/a');
    bed.sockets.put('/r/b');
    await bed.clock.advance(10_000);
    assert.deepEqual(bed.news(), ['-/r/a#1 replaced', '+/r/a#2', '+/r/b#3']);
    assert.equal(bed.looked, 1);
    bed.discovery.stop();
  });

  it('without file events looks more often, at everything', async () => {
    const bed = new Bed();
    bed.discovery.start();
    bed.discovery.setPolling(1000);
    await bed.clock.advance(3000);
    assert.equal(bed.looked, 3);
    bed.discovery.setPolling(undefined);
    await bed.clock.advance(9000);
    assert.equal(bed.looked, 3);
    bed.discovery.stop();
  });

  it('looks at everything soon where events were lost, and not more often than twice a second', async () => {
    const bed = new Bed();
    bed.discovery.eventsLost();
    bed.discovery.start();
    await bed.clock.advance(9000);
    bed.sockets.put('/r/a');
    bed.discovery.eventsLost();
    bed.discovery.eventsLost();
    await bed.clock.advance(20);
    assert.deepEqual([bed.news(), bed.looked], [['+/r/a#1'], 1]);
    bed.sockets.put('/r/b');
    bed.discovery.eventsLost();
    await bed.clock.advance(499);
    assert.deepEqual(bed.news(), []);
    await bed.clock.advance(1);
    assert.deepEqual([bed.news(), bed.looked], [['+/r/b#2'], 2]);
    await bed.clock.advance(9999);
    assert.equal(bed.looked, 2);
    bed.discovery.eventsLost();
    bed.discovery.stop();
    await bed.clock.advance(20_000);
    assert.equal(bed.looked, 2);
  });

  it('takes a link to a socket for that socket: it is there as long as one of its names is', () => {
    const bed = new Bed();
    const socket = bed.sockets.put('/r/a');
    bed.sockets.link('/r/link', socket);
    bed.discovery.start();
    assert.deepEqual(bed.news(), ['+/r/a#1']);
    bed.sockets.remove('/r/link');
    bed.discovery.look('/r/link');
    assert.deepEqual(bed.news(), []);
    bed.sockets.remove('/r/a');
    bed.discovery.look('/r/a');
    assert.deepEqual(bed.news(), ['-/r/a#1']);
    assert.equal(bed.sockets.openPins, 0);
  });

  it('tells by which name a socket is there from now on when the told one goes', () => {
    const bed = new Bed();
    const socket = bed.sockets.put('/r/a');
    bed.discovery.start();
    for (const path of ['/r/b', '/r/c']) {
      bed.sockets.link(path, socket);
      bed.discovery.look(path);
    }
    bed.sockets.remove('/r/a');
    bed.discovery.look('/r/a');
    assert.deepEqual(bed.news(), ['+/r/a#1', '>/r/b#1']);
    bed.sockets.put('/r/b');
    bed.discovery.look('/r/b');
    assert.deepEqual(bed.news(), ['>/r/c#1 replaced', '+/r/b#2']);
    bed.sockets.remove('/r/c');
    bed.discovery.look('/r/c');
    assert.deepEqual(bed.news(), ['-/r/c#1']);
    bed.discovery.stop();
    assert.equal(bed.sockets.openPins, 0);
  });

  it('tells a socket that cannot be used once for each life, and again while it is a matter of time', () => {
    const bed = new Bed();
    bed.owner = () => 4001;
    bed.unusable.set('/r/long', { refusal: { code: 'ENDPOINT_TOO_LONG', message: 'too long' } });
    bed.sockets.put('/r/long');
    bed.discovery.start();
    bed.discovery.rescan();
    assert.deepEqual(bed.news(), ['!/r/long ENDPOINT_TOO_LONG of 4001']);
    bed.sockets.put('/r/long');
    bed.discovery.rescan();
    assert.deepEqual(bed.news(), ['!/r/long ENDPOINT_TOO_LONG of 4001']);
    bed.sockets.remove('/r/long');
    bed.discovery.rescan();
    bed.unusable.set('/r/busy', { refusal: { code: 'BUSY', message: 'no descriptor left' } });
    bed.sockets.put('/r/busy');
    bed.discovery.rescan();
    bed.discovery.rescan();
    assert.deepEqual(bed.news(), ['!/r/busy BUSY of 4001', '!/r/busy BUSY of 4001']);
    bed.unusable.clear();
    bed.discovery.rescan();
    assert.deepEqual(bed.news(), ['+/r/busy#3']);
    bed.discovery.stop();
  });

  it('knows a bounded number of sockets, and takes the next when one goes', () => {
    const bed = new Bed();
    for (let at = 0; at < 8200; at += 1) bed.sockets.put(`/r/${String(at)}`);
    bed.discovery.start();
    assert.deepEqual([bed.discovery.size, bed.sockets.openPins], [8192, 8192]);
    bed.sockets.remove('/r/0');
    bed.discovery.rescan();
    assert.equal(bed.discovery.size, 8192);
    bed.discovery.stop();
  });

  it('holds nothing and waits for nothing once it is stopped', async () => {
    const bed = new Bed();
    bed.sockets.put('/r/a');
    bed.discovery.start();
    bed.discovery.stop();
    bed.news();
    bed.sockets.put('/r/b');
    bed.discovery.look('/r/b');
    bed.discovery.rescan();
    bed.discovery.setPolling(1);
    await bed.clock.advance(60_000);
    assert.deepEqual(bed.news(), []);
    assert.deepEqual([bed.sockets.openPins, bed.clock.pending], [0, 0]);
  });

  it('after a rescan has told exactly what is there, whatever happened and whichever hints were lost', () => {
    const step = fc.record({
      path: fc.constantFrom('/r/a', '/r/b', '/r/d/c', '/r/d/e'),
      what: fc.constantFrom('put', 'remove', 'link', 'look', 'look above'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const bed = new Bed();
        bed.discovery.start();
        for (const { path, what } of steps) {
          const a = bed.sockets.at('/r/a');
          if (what === 'put') bed.sockets.put(path);
          else if (what === 'remove') bed.sockets.remove(path);
          else if (what === 'link' && a !== undefined) bed.sockets.link(path, a);
          else bed.discovery.look(what === 'look' ? path : '/r/d');
        }
        bed.discovery.rescan();
        const told = new Map<string, string>();
        for (const line of bed.told) {
          const [, path = '', life = ''] = /^.(.*)#(\d+)/.exec(line) ?? [];
          assert.notEqual(told.has(life), line.startsWith('+'), `told twice: ${line}`);
          if (line.startsWith('-')) told.delete(life);
          else told.set(life, path);
        }
        for (const [life, path] of told) assert.equal(bed.sockets.at(path)?.incarnation.ino, life, 'by a name it has');
        const there = bed.sockets.paths().map((path) => bed.sockets.at(path)?.incarnation.ino ?? '');
        assert.deepEqual([...told.keys()].sort(), [...new Set(there)].sort());
        bed.discovery.stop();
        assert.equal(bed.sockets.openPins, 0);
      }),
    );
  });

  it('has a quarter of the room for one stranger, and room for root whatever strangers do', () => {
    const bed = new Bed();
    bed.maxSockets = 16;
    bed.owner = (path) => Number(path.split('/')[2]);
    for (let at = 0; at < 100; at++) bed.sockets.put(`/r/7/${at}.sock`);
    bed.discovery.start();
    assert.equal(bed.discovery.size, 4);
    assert.match(bed.full.at(-1) ?? '', /uid 7.*4.*discovery\.maxSockets/);
    for (const uid of [8, 9, 10, 11]) for (let at = 0; at < 10; at++) bed.sockets.put(`/r/${uid}/${at}.sock`);
    bed.discovery.rescan();
    assert.equal(bed.discovery.size, 12);
    bed.sockets.put('/r/0/root.sock');
    bed.discovery.look('/r/0/root.sock');
    assert.equal(bed.discovery.size, 13);
    for (const path of bed.sockets.paths()) if (!path.startsWith('/r/7/9')) bed.sockets.remove(path);
    bed.discovery.rescan();
    bed.discovery.rescan();
    assert.equal(bed.discovery.size, 4, 'a socket that had no room gets it when there is some');
  });

  it('says of users who have little each that all of them together have their room', () => {
    const bed = new Bed();
    bed.maxSockets = 16;
    bed.owner = (path) => Number(path.split('/')[2]);
    for (const uid of [7, 8, 9, 10]) for (let at = 0; at < 3; at++) bed.sockets.put(`/r/${uid}/${at}.sock`);
    bed.discovery.start();
    assert.equal(bed.full.at(-1), undefined);
    bed.sockets.put('/r/11/0.sock');
    bed.discovery.look('/r/11/0.sock');
    assert.equal(bed.discovery.size, 12);
    assert.match(
      bed.full.at(-1) ?? '',
      /users other than root and the broker: they may have 12, three quarters of discovery\.maxSockets/,
    );
  });

  it('says when there is no room, and when there is again', () => {
    const bed = new Bed();
    bed.maxSockets = 8;
    for (let at = 0; at < 9; at++) bed.sockets.put(`/r/${at}.sock`);
    bed.discovery.start();
    assert.equal(bed.discovery.size, 8);
    assert.match(bed.full.at(-1) ?? '', /discovery\.maxSockets \(8\)/);
    bed.sockets.remove('/r/3.sock');
    bed.discovery.rescan();
    assert.equal(bed.discovery.size, 8);
    assert.equal(bed.full.at(-1), undefined);
  });

  it('counts the sockets of a directory that was given away for its new owner, who gives way to others', () => {
    const bed = new Bed();
    let owner = 0;
    bed.maxSockets = 16;
    bed.owner = (path) => (path.startsWith('/r/given/') ? owner : 0);
    for (let at = 0; at < 40; at++) bed.sockets.put(`/r/given/${at}.sock`);
    bed.discovery.start();
    assert.equal(bed.discovery.size, 16);
    const owners = (): number[] => [...new Set(bed.found.map((one) => one.owner))];
    assert.deepEqual(owners(), [0]);
    owner = 7;
    bed.discovery.rescan();
    assert.deepEqual(owners(), [7], 'its listener shares by it from now on');
    assert.match(bed.full.at(-1) ?? '', /uid 7/);
    bed.news();
    bed.sockets.put('/r/root.sock');
    bed.discovery.look('/r/root.sock');
    assert.match(bed.news().join(' '), /^-\/r\/given\/\d+\.sock#\d+ \+\/r\/root\.sock#41$/);
    assert.equal(bed.discovery.size, 16);
  });

  it('lets another stranger in although a directory that was given away has more than the share of its owner', () => {
    for (const count of [13, 16]) {
      const bed = new Bed();
      let owner = 0;
      bed.maxSockets = 16;
      bed.owner = (path) => (path.startsWith('/r/given/') ? owner : 8);
      for (let at = 0; at < count; at++) bed.sockets.put(`/r/given/${at}.sock`);
      bed.discovery.start();
      owner = 7;
      bed.discovery.rescan();
      bed.news();
      for (let at = 0; at < 5; at++) {
        bed.sockets.put(`/r/8/${at}.sock`);
        bed.discovery.look(`/r/8/${at}.sock`);
      }
      const came = bed.news().filter((one) => one.startsWith('+/r/8/')).length;
      assert.equal(came, 4, 'its share, and no more');
      assert.equal(bed.discovery.size, count, 'the excess gave way, one for one');
    }
  });

  it('asks for the owner of a socket that it knows only when it looks at everything', () => {
    const bed = new Bed();
    let asked = 0;
    bed.owner = () => (asked += 1) * 0;
    for (let at = 0; at < 10; at++) bed.sockets.put(`/r/${at}.sock`);
    bed.discovery.start();
    asked = 0;
    for (let at = 0; at < 10; at++) bed.discovery.look(`/r/${at}.sock`);
    assert.equal(asked, 0);
    bed.discovery.rescan();
    assert.equal(asked, 10);
  });

  it('says once that there is no room, however often and for however many there is none', () => {
    const bed = new Bed();
    bed.maxSockets = 8;
    bed.owner = (path) => (path.startsWith('/r/7/') ? 7 : 0);
    for (let at = 0; at < 9; at++) bed.sockets.put(`/r/7/${at}.sock`);
    bed.discovery.start();
    for (let at = 0; at < 5; at++) bed.discovery.look(`/r/7/${at}.sock`);
    bed.discovery.rescan();
    bed.discovery.rescan();
    assert.equal(bed.full.length, 1);
    for (let at = 0; at < 9; at++) bed.sockets.put(`/r/${at}.sock`);
    bed.discovery.rescan();
    bed.discovery.rescan();
    assert.equal(bed.full.length, 2, 'that there is no room for anybody is news');
  });

  it('counts sockets that cannot be used for their owner, and tells none beyond its share', () => {
    const bed = new Bed();
    bed.maxSockets = 16;
    bed.owner = (path) => Number(path.split('/')[2]);
    const tooLong = (path: string): void => {
      bed.unusable.set(path, { refusal: { code: 'ENDPOINT_TOO_LONG', message: 'too long' } });
      bed.sockets.put(path);
    };
    for (let at = 0; at < 100; at++) tooLong(`/r/7/${at}.sock`);
    bed.discovery.start();
    for (let nth = 0; nth < 3; nth++) bed.discovery.rescan();
    assert.equal(bed.news().length, 4);
    assert.match(bed.full.at(-1) ?? '', /uid 7.*4.*discovery\.maxSockets/);
    for (const path of ['/r/8/a.sock', '/r/0/root.sock']) tooLong(path);
    bed.discovery.rescan();
    bed.discovery.rescan();
    assert.deepEqual(bed.news().sort(), [
      '!/r/0/root.sock ENDPOINT_TOO_LONG of 0',
      '!/r/8/a.sock ENDPOINT_TOO_LONG of 8',
    ]);
    for (let at = 0; at < 100; at++) bed.sockets.remove(`/r/7/${at}.sock`);
    bed.discovery.rescan();
    bed.sockets.put('/r/7/short.sock');
    bed.discovery.rescan();
    assert.deepEqual([bed.discovery.size, bed.full.at(-1)], [1, undefined]);
    bed.discovery.stop();
  });

  it('lets go of sockets that cannot be used first where a directory that was given away has too many', () => {
    const bed = new Bed();
    let owner = 0;
    bed.maxSockets = 16;
    bed.owner = (path) => (path.startsWith('/r/given/') ? owner : 0);
    for (let at = 0; at < 16; at++) {
      const path = `/r/given/${at}.sock`;
      if (at < 8) bed.unusable.set(path, { refusal: { code: 'ENDPOINT_TOO_LONG', message: 'too long' } });
      bed.sockets.put(path);
    }
    bed.discovery.start();
    owner = 7;
    bed.discovery.rescan();
    bed.news();
    bed.sockets.put('/r/root.sock');
    bed.discovery.look('/r/root.sock');
    bed.discovery.rescan();
    assert.deepEqual([bed.news(), bed.discovery.size], [['+/r/root.sock#17'], 9]);
    bed.discovery.stop();
  });
});
