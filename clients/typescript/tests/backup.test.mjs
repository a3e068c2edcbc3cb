// Backups against a scripted server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BackupLostError, ClosedError, ProtocolError } from 'adjourn';
import { ManualClock } from './support/manual-clock.mjs';
import { ERROR, client, scripted } from './support/scripted.mjs';
import { until } from './support/until.mjs';

const READY = { index: 1n, jobs: 2n, stateHash: 3n, bytes: 1_500_000n };
/** Each byte of the backup says in which quarter of a mebibyte it is. */
const backupData = ({ offset, bytes }) => ['BACKUP_DATA', { data: new Uint8Array(bytes).fill(Number(offset / 262_144n)) }];

test('the pieces of a backup come in order, with a few reads under way', async () => {
  const held = [];
  const server = await scripted((request, { send }) => {
    if (request.name === 'BACKUP_BEGIN') return ['BACKUP_READY', READY];
    held.push(() => send(...backupData(request.fields)));
    if (held.length === 4 || request.fields.offset === 1_310_720n) for (const answer of held.splice(0).reverse()) answer();
  });
  const q = await client(server);
  const pieces = [];
  for await (const piece of await q.backup()) pieces.push([piece[0], piece.byteLength]);
  assert.deepEqual(pieces, [[0, 262_144], [1, 262_144], [2, 262_144], [3, 262_144], [4, 262_144], [5, 189_280]]);
});

test('a piece of a backup that is too short is a fault of the protocol', async () => {
  const server = await scripted(({ name, fields }) => (name === 'BACKUP_BEGIN' ? ['BACKUP_READY', READY] : backupData({ ...fields, bytes: 10 })));
  const q = await client(server);
  const backup = await q.backup();
  await assert.rejects(backup[Symbol.asyncIterator]().next(), ProtocolError);
});

test('a backup ends with its connection', async () => {
  const server = await scripted(({ name, fields }, { connection, socket }, count) => {
    if (name === 'BACKUP_BEGIN') return ['BACKUP_READY', READY];
    if (name === 'COUNT') return ['COUNTED', { jobs: 1n, byDue: [] }];
    return connection === 1 && count === 2 ? void socket.destroy() : backupData(fields);
  });
  const q = await client(server);
  const backup = await q.backup();
  assert.equal((await backup.read(0, 8)).byteLength, 8);
  const lost = await backup.read(0, 8).catch((e) => e);
  assert.ok(lost instanceof BackupLostError, String(lost));
  assert.deepEqual([lost.code, lost.retryable, lost.applied], ['BACKUP_LOST', false, 'no']);
  await q.count();
  await assert.rejects(backup.read(0, 8), BackupLostError, 'the next connection does not have it');
  const next = await q.backup();
  await assert.rejects(backup.read(0, 8), BackupLostError, 'never the bytes of the next one');
  await backup.end();
  assert.equal((await next.read(0, 8)).byteLength, 8);
  assert.equal(server.seen('BACKUP_END').length, 0);
  assert.equal(server.seen('BACKUP_READ').length, 3);
});

test('a backup that the server let go of is lost', async () => {
  const server = await scripted(({ name }) => (name === 'BACKUP_BEGIN' ? ['BACKUP_READY', READY] : ['ERROR', { ...ERROR, code: 36 }]));
  const q = await client(server);
  const backup = await q.backup();
  await assert.rejects(backup.read(0, 8), BackupLostError);
  await q.close();
  await assert.rejects(backup.read(0, 8), ClosedError);
  await backup.end();
});

test('a backup may take minutes', async () => {
  let ready;
  const server = await scripted((request, { send }) => void (ready = () => send('BACKUP_READY', READY)));
  const clock = new ManualClock();
  const q = await client(server, { clock });
  const taken = q.backup();
  taken.catch(() => {});
  await until('it was sent', () => server.seen('BACKUP_BEGIN').length === 1);
  const end = clock.now() + 120_000;
  await until('two minutes have passed', async () => {
    const pings = server.seen('PING').length;
    await clock.advance(3_000);
    await until('the heartbeat', () => server.seen('PING').length > pings);
    return clock.now() >= end;
  });
  ready();
  assert.equal((await taken).bytes, 1_500_000n);
  assert.equal(server.connections, 1);
});
