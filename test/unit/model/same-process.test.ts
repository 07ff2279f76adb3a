import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { callerBehind, sameProcess, type Caller } from '../../../src/model/ids.js';

const caller: Caller = { uid: 4001, gid: 4001, pid: 7, startTime: '100', source: 'peercred' };
const unseen = { ...caller, startTime: undefined };

describe('the same process', () => {
  it('has the same pid and start time, whatever uid it has by now', () => {
    assert.equal(sameProcess(caller, { ...caller, uid: 0 }), true);
    assert.equal(sameProcess(caller, { ...caller, startTime: '101' }), false);
    assert.equal(sameProcess(caller, { ...caller, pid: 8 }), false);
  });

  it('has the same uid where a start time is unknown: another user may have the pid by now', () => {
    assert.equal(sameProcess(caller, unseen), true);
    assert.equal(sameProcess(caller, { ...unseen, uid: 0 }), false);
    assert.equal(sameProcess({ ...caller, uid: 0 }, unseen), false);
  });

  it('goes by uid alone where a pid is unknown', () => {
    assert.equal(sameProcess(caller, { ...unseen, pid: undefined }), true);
    assert.equal(sameProcess(caller, { ...unseen, pid: undefined, uid: 0 }), false);
  });
});

describe('the process that listens', () => {
  it('has the start time of the process that called, where it is the same', () => {
    const { uid, gid, pid } = caller;
    assert.deepEqual(callerBehind({ uid, gid, pid }, caller), caller);
    assert.deepEqual(callerBehind({ uid, gid, pid: 8 }, caller), { ...unseen, pid: 8 });
    assert.deepEqual(callerBehind({ uid: 0, gid, pid }, caller), { ...unseen, uid: 0 });
    assert.deepEqual(callerBehind({ uid, gid, pid }), unseen);
    assert.equal(callerBehind({ uid, gid, pid: undefined }, caller).source, 'socket-file');
  });
});
