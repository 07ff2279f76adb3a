import assert from 'node:assert/strict';
import path from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Client, credentials, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { createForgivingServer } from '../../../src/platform/grpc/forgiving-server.js';
import { tempDir } from '../../support/temp-dir.js';

const METHOD = '/t.T/Deadline';
const HOUR = 3_600_000;
const asIs = (bytes: Buffer): Buffer => bytes;

void describe('a call of a caller that waits longer than a timer can', () => {
  void it('has no deadline here, and any other has its own', async (t) => {
    const address = `unix:${path.join(tempDir(), 's.sock')}`;
    const server = createForgivingServer({}, (_interceptors, _stream, go) => go());
    t.after(() => server.forceShutdown());
    const unary = { requestStream: false, responseStream: false } as const;
    const bytes = {
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    };
    server.addService(
      { Deadline: { path: METHOD, ...unary, ...bytes } },
      {
        Deadline: (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) =>
          done(null, Buffer.from(String(Number(call.getDeadline())))),
      },
    );
    await promisify(server.bindAsync.bind(server))(address, ServerCredentials.createInsecure());
    const client = new Client(address, credentials.createInsecure());
    t.after(() => client.close());
    const deadlineThere = (deadline: number): Promise<number> =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(METHOD, asIs, asIs, Buffer.alloc(0), { deadline }, (failure, value) => {
          if (failure === null) resolve(Number(value?.toString()));
          else reject(failure);
        });
      });
    for (const hours of [600, 720, 10_000]) assert.equal(await deadlineThere(Date.now() + hours * HOUR), Infinity);
    for (const hours of [1, 590]) {
      const given = Date.now() + hours * HOUR;
      const away = (await deadlineThere(given)) - given;
      assert.ok(Math.abs(away) < HOUR / 60, `${String(away)} ms away`);
    }
  });
});
