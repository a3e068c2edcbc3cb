// A user's test in an empty folder: the client, and the server from its package.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startQueue } from 'adjourn/testing';
import server from 'adjourn-server';

test('the binary is that of the platform', () => {
  assert.ok(server.binaryPath().startsWith(join(process.cwd(), 'node_modules', 'adjourn-server-')));
  assert.ok(statSync(server.binaryPath()).mode & 0o100);
});

test('an order is closed after a quarter of an hour', async (t) => {
  const queue = await startQueue(t);
  const client = await queue.connect();
  await client.push('unpaid', 'order 17', { delayMs: 900_000 });
  assert.deepEqual(await client.reserve('unpaid'), []);
  await queue.advance(900_000);
  const [job] = await client.reserve('unpaid');
  assert.equal(job.text(), 'order 17');
});
