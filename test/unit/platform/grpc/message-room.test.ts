import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MessageRoom, type MessageReservation, type UserRoom } from '../../../../src/platform/grpc/message-room.js';

const MIB = 1024 * 1024;

function roomOf(room: MessageRoom, uid: number): UserRoom {
  const own = room.of(uid);
  assert.ok(own !== undefined);
  return own;
}

void describe('room for messages that are not whole', () => {
  const rooms = (): MessageRoom => new MessageRoom({ ownUid: 999, userOf: (uid) => uid });

  void it('is needed by ordinary users alone', () => {
    assert.deepEqual([rooms().of(0), rooms().of(999)], [undefined, undefined]);
  });

  void it('is 16 MiB of one user and 64 MiB of all, and one message of a user always has room among its own', () => {
    const room = rooms();
    const taken = (uid: number, mib: number): boolean => roomOf(room, uid).take(mib * MIB, () => undefined).isGranted;
    assert.deepEqual([taken(4001, 10), taken(4001, 7), taken(4002, 16), taken(4003, 16)], [true, false, true, true]);
    assert.deepEqual([taken(4004, 16), taken(4005, 16), taken(4006, 6)], [true, false, true]);
    assert.deepEqual([...room.held()], [10 * MIB, 16 * MIB, 16 * MIB, 16 * MIB, 6 * MIB]);
    assert.equal(roomOf(rooms(), 4001).take(200 * MIB, () => undefined).isGranted, true);
  });

  void it('goes to waiting messages, one of each user in turn', () => {
    const room = rooms();
    const served: string[] = [];
    const places = [4001, 4002, 4003, 4004].map((uid) => roomOf(room, uid).take(16 * MIB, () => undefined));
    for (const name of ['a1', 'a2', 'b1', 'b2']) {
      const uid = name.startsWith('a') ? 5001 : 5002;
      roomOf(room, uid).take(8 * MIB, () => served.push(name));
    }
    for (const place of places) place.leave();
    assert.deepEqual(served, ['a1', 'b1', 'a2', 'b2']);
  });

  void it('that nobody holds or waits for is forgotten in any case', () => {
    const step = fc.record({
      uid: fc.integer({ min: 1_000, max: 1_005 }),
      mib: fc.integer({ min: 1, max: 20 }),
      leaves: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const room = rooms();
        const places: MessageReservation[] = [];
        let granted = 0;
        for (const { uid, mib, leaves } of steps) {
          const place = roomOf(room, uid).take(mib * MIB, () => (granted += 1));
          if (place.isGranted) granted += 1;
          places.push(place);
          places[leaves % places.length]?.leave();
          const held = room.held();
          assert.ok(held.every((bytes) => bytes <= 20 * MIB));
          assert.ok(held.reduce((sum, bytes) => sum + bytes, 0) <= 64 * MIB);
        }
        for (const place of places) place.leave();
        assert.deepEqual(room.held(), []);
        assert.ok(granted <= steps.length);
      }),
    );
  });
});
