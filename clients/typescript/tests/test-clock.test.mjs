// ADVANCE: against a server whose clock the test moves, and one that goes by the machine's.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NotFoundError, UnsupportedError, UsageError } from 'adjourn';
import { startQueue } from 'adjourn/testing';
import { Server } from './support/server.mjs';
import { client } from './support/scripted.mjs';

const MINUTE = 60_000;

test('the clock of a server for tests stands still until it is moved: by a duration, or to the next due time', async (t) => {
  const queue = await startQueue(t);
  const q = await queue.connect();
  const start = await q.ping();
  await q.push('t', 'in 15 minutes', { delayMs: 15 * MINUTE });
  await q.push('t', 'in an hour', { delayMs: 60 * MINUTE });
  assert.deepEqual(await q.advance(15 * MINUTE - 1), new Date(start.getTime() + 15 * MINUTE - 1));
  assert.deepEqual(await q.reserve('t'), []);
  assert.deepEqual(await q.ping(), new Date(start.getTime() + 15 * MINUTE - 1), 'it stands still');
  await q.advance(1);
  const [job] = await q.reserve('t');
  assert.equal(job.text(), 'in 15 minutes');
  await job.finish();
  assert.deepEqual(await q.reserve('t'), []);

  const waiting = q.reserve('t', { waitMs: 30_000 });
  assert.deepEqual(await q.advanceToNext(), new Date(start.getTime() + 60 * MINUTE));
  const [next] = await waiting;
  assert.equal(next.text(), 'in an hour');
  await next.finish();
  await assert.rejects(q.advanceToNext(), NotFoundError);
  assert.deepEqual(await q.ping(), new Date(start.getTime() + 60 * MINUTE));
});

test('a server with the clock of its machine refuses to move it, and a duration that is none is not sent', async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  const q = await client(server.url);
  await assert.rejects(q.advance(1), (error) => error instanceof UnsupportedError && error.applied === 'no');
  await assert.rejects(q.advanceToNext(), UnsupportedError);
  for (const ms of [-1, Number.NaN, '15m', undefined, Infinity]) await assert.rejects(q.advance(ms), UsageError, String(ms));
  await assert.rejects(q.advance(1, { timeout: 5 }), UsageError);
});
