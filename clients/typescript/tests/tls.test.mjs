// TLS against a real server, with certificates that `adjourn cert` made.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AdjournError, CannotConnectError, UsageError, connect } from 'adjourn';
import { Server, binary } from './support/server.mjs';

const folders = [];
let path;

before(() => {
  path = certificates();
});

after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A CA, a certificate of a server on 127.0.0.1, and one of a client. */
function certificates() {
  const folder = mkdtempSync(join(tmpdir(), 'adjourn-ts-certificates-'));
  folders.push(folder);
  for (const what of [['node', '1', '--host', '127.0.0.1'], ['client', 'shop']]) execFileSync(binary(), ['cert', ...what, '--dir', folder]);
  return (name) => join(folder, name);
}

const pem = (name) => readFileSync(path(name));
const start = (...options) => Server.start({ args: ['--tls-cert', path('node-1.pem'), '--tls-key', path('node-1.key'), ...options] });

test('jobs go over TLS, and a client comes back', async (t) => {
  const server = await start();
  t.after(() => server.stop());
  const q = await connect(`adjourns://${server.address}`, { tls: { ca: pem('ca.pem') } });
  const large = new Uint8Array(1 << 20).fill(7);
  const waiting = q.reserve('large', { waitMs: 20_000 });
  for (let i = 0; i < 100; i++) await q.push('small', 'x');
  await q.push('large', large);
  const [job] = await waiting;
  assert.deepEqual(new Uint8Array(job.body), large);
  await job.finish();
  await server.kill();
  await server.run();
  await q.push('small', 'x');
  await q.close();
});

test('whom a client does not believe, it does not talk to', async (t) => {
  const [ca, foreign] = [pem('ca.pem'), readFileSync(certificates()('ca.pem'))];
  const [server, strict] = [await start(), await start('--tls-client-ca', path('ca.pem'))];
  t.after(() => Promise.all([server.stop(), strict.stop()]));
  for (const [url, tls] of [
    [`adjourns://${server.address}`, { ca: foreign }],
    [`adjourns://${server.address}`, {}],
    [`adjourns://localhost:${server.port}`, { ca }],
    [`adjourns://${strict.address}`, { ca }],
  ]) {
    await assert.rejects(connect(url, { tls, connectTimeoutMs: 500 }), (error) => error instanceof CannotConnectError && /TLS failed: /.test(error.message));
  }
  await assert.rejects(connect(server.url, { connectTimeoutMs: 500 }), (error) => error instanceof AdjournError && /adjourns:\/\//.test(error.message));
  const q = await connect(`adjourns://${strict.address}`, { tls: { ca, cert: pem('shop.pem'), key: pem('shop.key') } });
  await q.push('t', 'x');
  await q.close();
});

test('a plain server behind adjourns:// is told apart', async (t) => {
  const server = await Server.start();
  t.after(() => server.stop());
  await assert.rejects(connect(`adjourns://${server.address}`, { connectTimeoutMs: 500 }), /TLS failed: /);
});

test('options that cannot be are refused', async () => {
  const ca = pem('ca.pem');
  for (const [url, options, reason] of [
    ['127.0.0.1:1', { tls: { ca } }, /adjourns:\/\//],
    ['adjourns://127.0.0.1:1', { tls: { cert: ca } }, /tls\.key/],
    ['adjourns://127.0.0.1:1', { tls: { ca, cert: 'no certificate', key: 'no key' } }, /cannot be used/],
    ['adjourns://127.0.0.1:1', { dialer: () => {} }, /dialer/],
    ['adjourns://a:1,adjourn://b:1', {}, /with all servers or with none/],
    [['a:1', 'adjourns://b:1'], {}, /with all servers or with none/],
    ['tls://a:1', {}, /no address/],
  ]) {
    await assert.rejects(connect(url, options), (error) => error instanceof UsageError && reason.test(error.message), url.toString());
  }
});
