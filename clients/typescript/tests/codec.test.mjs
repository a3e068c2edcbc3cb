// The codec against the frames of protocol.md: each is decoded and encoded again to the same bytes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  DecodeError,
  FrameError,
  FrameSplitter,
  REQUESTS,
  RESPONSES,
  decodeAttributes,
  decodeRequest,
  decodeResponse,
  decodeSettings,
  encodeAttributes,
  encodeRequest,
  encodeResponse,
  encodeSettings,
} from 'adjourn/protocol';

const document = readFileSync(new URL('../../../protocol.md', import.meta.url), 'utf8');

function framesOfTheDocument() {
  const frames = [];
  for (const [, side, text] of document.matchAll(/```frame (request|response)\n([\s\S]*?)```/g)) {
    const lines = text.split('\n').filter((line) => !line.startsWith('='));
    const hex = lines.map((line) => line.split('#')[0]).join(' ');
    frames.push({ side, bytes: Uint8Array.from(hex.trim().split(/\s+/), (byte) => parseInt(byte, 16)) });
  }
  return frames;
}

function split(bytes) {
  const splitter = new FrameSplitter();
  splitter.push(bytes);
  const frame = splitter.next();
  assert.ok(frame, 'a whole frame');
  return frame;
}

const decode = { request: decodeRequest, response: decodeResponse };
const encode = { request: encodeRequest, response: encodeResponse };

test('every frame of protocol.md is decoded, and encoded to the same bytes', () => {
  const frames = framesOfTheDocument();
  const seen = new Set();
  for (const { side, bytes } of frames) {
    const frame = split(bytes);
    const message = decode[side](frame);
    assert.deepEqual(Buffer.from(encode[side](message.name, frame.id, message.fields)), Buffer.from(bytes), message.name);
    seen.add(message.name);
  }
  const missing = [...Object.keys(REQUESTS), ...Object.keys(RESPONSES)].filter((name) => !seen.has(name));
  assert.deepEqual(missing, [], 'protocol.md shows every message');
});

test('values are read from the right places', () => {
  const job = framesOfTheDocument().map(({ side, bytes }) => decode[side](split(bytes))).find(({ name }) => name === 'DELIVER').fields.jobs[0];
  assert.equal(job.job, 42n);
  assert.equal(job.fence, 7n);
  assert.equal(job.deadlineMs, 124319n);
  assert.equal(job.key, 'order 17');
  assert.equal(Buffer.from(job.body).toString(), 'close it');
});

test('a payload that ends anywhere too early is refused, or means what an older peer sends', () => {
  for (const { side, bytes } of framesOfTheDocument()) {
    const { opcode, group, id, payload } = split(bytes);
    for (let length = 0; length < payload.byteLength; length += 1) {
      let message;
      try {
        message = decode[side]({ opcode, group, id, payload: payload.slice(0, length) });
      } catch (error) {
        assert.ok(error instanceof DecodeError, String(error));
        continue;
      }
      // Only fields at the end may be missing: what was read is written as a frame that is read the same way.
      const again = split(encode[side](message.name, id, message.fields));
      assert.deepEqual(decode[side](again), message);
    }
  }
});

test('trailing bytes of a newer peer are skipped', () => {
  for (const { side, bytes } of framesOfTheDocument()) {
    const frame = split(bytes);
    const message = decode[side](frame);
    if (side === 'request' || ['WELCOME', 'PONG', 'GOING_AWAY', 'JOB', 'BULKED'].includes(message.name)) continue;
    const longer = { ...frame, payload: Buffer.concat([frame.payload, Buffer.from([9, 9, 9])]) };
    assert.deepEqual(decode[side](longer), message);
  }
});

test('a longer fixed part of a newer peer is skipped', () => {
  const bytes = encodeResponse('SETTLED', 3, { results: [{ code: 0 }, { code: 34 }] });
  const { opcode, group, id } = split(bytes);
  const payload = Uint8Array.of(4, 0, 2, 0, 0, 0, 0, 0, 0xee, 0xee, 34, 0, 0xee, 0xee);
  assert.deepEqual(decodeResponse({ opcode, group, id, payload }).fields.results, [{ code: 0 }, { code: 34 }]);
});

test('an opcode of a newer server is no error', () => {
  assert.equal(decodeResponse({ opcode: 0xfe, group: 0, id: 1, payload: new Uint8Array(3) }), null);
});

test('a list that promises more than there is, is refused before memory is taken', () => {
  const payload = Uint8Array.of(16, 0, 0xff, 0xff, 0xff, 0xff);
  assert.throws(() => decodeRequest({ opcode: 0x30, group: 0, id: 1, payload }), DecodeError);
});

test('a text that is not UTF-8 is refused, also as one that cannot be written', () => {
  const payload = Uint8Array.of(2, 0, 0xff, 0xfe, 1);
  assert.throws(() => decodeResponse({ opcode: 0x84, group: 0, id: 0, payload }), DecodeError);
  assert.throws(() => encodeRequest('PEEK', 1, { topic: 'a\ud800' }), RangeError);
});

test('numbers beyond their width are refused, never cut', () => {
  assert.throws(() => encodeRequest('LEASES', 1, { after: 1n << 64n, jobsMax: 1 }), RangeError);
  assert.throws(() => encodeRequest('LEASES', 1, { after: -1n, jobsMax: 1 }), RangeError);
  assert.throws(() => encodeRequest('LEASES', 1, { after: 1n, jobsMax: 1.5 }), RangeError);
});

test('frames are found however the bytes arrive', () => {
  const frames = framesOfTheDocument();
  const all = Buffer.concat(frames.map(({ bytes }) => bytes));
  for (const step of [1, 3, 7, 64, 1000, all.length]) {
    const splitter = new FrameSplitter();
    let found = 0;
    for (let at = 0; at < all.length; at += step) {
      splitter.push(Uint8Array.from(all.subarray(at, at + step)));
      for (let frame = splitter.next(); frame; frame = splitter.next()) {
        assert.deepEqual(Buffer.from(frame.payload), Buffer.from(frames[found].bytes.subarray(12)));
        found += 1;
      }
    }
    assert.equal(found, frames.length);
    assert.equal(splitter.isPartial, false);
  }
});

test('a length below 8 or above the maximum ends the stream', () => {
  for (const length of [0, 7, 33_554_433]) {
    const splitter = new FrameSplitter();
    const head = new Uint8Array(12);
    new DataView(head.buffer).setUint32(0, length, true);
    splitter.push(head);
    assert.throws(() => splitter.next(), FrameError);
  }
});

test('attributes are sorted, keep what is unknown, and refuse disorder', () => {
  const attributes = {
    headers: [['b', '1'], ['a', 'ü']],
    attemptsMax: 5,
    backoff: { kind: 2, jitter: 10, waitsMs: [1000, 60000] },
    expires: { kind: 1, ms: 5n },
    dedupeRetentionMs: 7n,
    unknown: [{ tag: 900, value: Uint8Array.of(1, 2) }],
  };
  assert.deepEqual(decodeAttributes(encodeAttributes(attributes)), attributes);
  assert.throws(() => decodeAttributes(Uint8Array.of(9, 0, 0, 0, 1, 0, 1, 0, 0)), DecodeError);
  assert.throws(() => decodeAttributes(Uint8Array.of(5, 0, 0, 0, 5, 0, 0, 0)), DecodeError);
});

test('settings are taken away by null, and those of a newer peer are skipped', () => {
  assert.deepEqual(decodeSettings(encodeSettings({ ttrMs: 30000, rate: null })), { ttrMs: 30000, rate: null });
  const newer = Buffer.concat([encodeSettings({ ttrMs: 30000 }), Buffer.from([99, 0, 1, 0, 7])]);
  assert.deepEqual(decodeSettings(newer), { ttrMs: 30000 });
});

test('a field that may be absent from a fixed part is there as a whole, or is 0', () => {
  const job = { job: 1n, fence: 2n, dueMs: 3n, priority: 4, attempts: 5, ttrLeftMs: 6, topic: 't', key: 'k', attributes: {}, body: Uint8Array.of(9), deadlineMs: 7n };
  const { opcode, group, id, payload } = split(encodeResponse('RESERVED', 3, { jobs: [job] }));
  const [head, fixed, pieces] = [payload.subarray(0, 6), payload.subarray(6, 59), payload.subarray(59)];
  const of = (bytes) => decodeResponse({ opcode, group, id, payload: Buffer.concat([Uint8Array.of(bytes, 0), head.subarray(2), fixed.subarray(0, bytes), pieces]) }).fields.jobs;
  assert.deepEqual(of(53), [job]);
  assert.deepEqual(of(45), [{ ...job, deadlineMs: 0n }]);
  assert.throws(() => of(49), DecodeError);
  assert.throws(() => of(44), DecodeError);
});

test('fields at the end of a request that say nothing are left out, but not before one that says something', () => {
  const job = { dueMs: 0n, priority: 0, ttrMs: 0, dueKind: 0, ifExists: 0, key: '', attributes: {}, body: new Uint8Array(0) };
  const push = { sequence: 1n, topic: 't', jobs: [job] };
  const bytes = (more) => encodeRequest('PUSH', 1, { ...push, ...more }).byteLength;
  assert.equal(bytes({ idempotency: 0n, listJobs: 0 }), bytes({}));
  assert.equal(bytes({ idempotency: 5n, listJobs: 0 }), bytes({}) + 16);
  assert.equal(bytes({ idempotency: 0n, listJobs: 2 }), bytes({}) + 20);
  const frame = split(encodeRequest('PUSH', 1, { ...push, idempotency: 5n, listJobs: 2 }));
  assert.deepEqual(decodeRequest(frame).fields, { ...push, idempotency: 5n, listJobs: 2 });
  for (const cut of [1, 4, 5, 19]) {
    const shorter = { ...frame, payload: frame.payload.subarray(0, frame.payload.byteLength - cut) };
    if (cut === 4) assert.equal(decodeRequest(shorter).fields.listJobs, 0);
    else assert.throws(() => decodeRequest(shorter), DecodeError, `${cut}`);
  }
});

test('a delay of RELEASE may park, but not for more than ten years', () => {
  const release = (delayMs) => decodeRequest(split(encodeRequest('RELEASE', 1, { delayMs, leases: [{ job: 1n, fence: 1n }], reason: '' }))).fields.delayMs;
  const [ten, parked] = [315_360_000_000n, 1n << 63n];
  for (const ms of [0n, ten, parked, parked + ten, (1n << 64n) - 2n, (1n << 64n) - 1n]) assert.equal(release(ms), ms);
  for (const ms of [ten + 1n, parked - 1n, parked + ten + 1n, (1n << 64n) - 3n]) assert.throws(() => release(ms), DecodeError);
});

test('the writer of a long frame, and of one in another, takes nothing from the next', () => {
  const body = new Uint8Array(3_000_000).fill(7);
  const job = { dueMs: 0n, priority: 0, ttrMs: 0, dueKind: 0, ifExists: 0, key: 'ü'.repeat(100), attributes: { headers: [['a', 'ü'.repeat(300)]] }, body };
  const jobs = [job, { ...job, body: body.subarray(0, 10) }];
  const fields = { sequence: 1n, topic: 't', jobs, idempotency: 0n, listJobs: 0 };
  const first = encodeRequest('PUSH', 1, fields);
  assert.throws(() => encodeRequest('PUSH', 1, { ...fields, topic: 't'.repeat(256) }), RangeError);
  assert.deepEqual(decodeRequest(split(first)).fields, fields);
  assert.equal(Buffer.compare(encodeRequest('PUSH', 1, fields), first), 0);
});
