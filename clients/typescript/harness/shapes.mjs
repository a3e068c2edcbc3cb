// What the client's interface takes and returns, as the neutral JSON of the conformance suite.

import { AdjournError } from 'adjourn';
import { BACKOFF_KIND_NAMES, LATE_ACTION_NAMES, STATE_NAMES } from 'adjourn/protocol';
import { ATTRIBUTES, FILTER, SETTINGS } from './frames.mjs';
import { base64, fromBase64 } from './json.mjs';

export const defined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
export const milliseconds = (text) => (text === undefined ? undefined : Number(text));
const map = (value, to) => (value === undefined || value === null ? value : to(value));

export function errorJson(error) {
  if (error?.name === 'AbortError') return { code: 'CANCELLED', retryable: false, applied: 'no', message: error.message };
  if (!(error instanceof AdjournError)) return { code: 'USAGE', retryable: false, applied: 'no', message: String(error?.message ?? error) };
  const { code, retryable, applied, retryAfterMs, message, job } = error;
  return {
    code,
    retryable,
    applied,
    message,
    ...(retryAfterMs > 0 && { retry_after_ms: retryAfterMs }),
    ...(job && { job: job.toString() }),
  };
}

export function deliveredJson(job) {
  return {
    job: job.id.toString(),
    fence: job.fence.toString(),
    topic: job.topic,
    key: job.key ?? '',
    priority: job.priority,
    attempts: job.attempts,
    due_ms: String(job.dueMs),
    body: base64(job.body),
    attributes: ATTRIBUTES.to(job.attributes),
  };
}

export function shownJson(job) {
  return {
    job: job.id.toString(),
    topic: job.topic,
    key: job.key ?? '',
    state: job.state,
    attempts: job.attempts,
    priority: job.priority,
    ttr_ms: job.ttrMs,
    body: base64(job.body),
    body_bytes: job.bodyBytes,
    due_ms: String(job.dueMs),
    reason: job.reason ?? '',
    attributes: ATTRIBUTES.to(job.attributes),
  };
}

export function newJob(job) {
  return defined({
    body: fromBase64(job.body ?? ''),
    delayMs: milliseconds(job.delay_ms),
    at: job.at_ms === undefined ? undefined : BigInt(job.at_ms),
    priority: job.priority,
    ttrMs: job.ttr_ms,
    key: job.key || undefined,
    ifExists: job.if_exists,
    attributes: job.attributes && ATTRIBUTES.from(job.attributes),
  });
}

export function filterOf(filter = {}) {
  const { states, dueFromMs, dueBeforeMs, buried, ...rest } = FILTER.from(filter);
  return defined({
    ...rest,
    states: states === undefined ? undefined : STATE_NAMES.filter((_, bit) => states & (1 << bit)),
    dueFrom: dueFromMs,
    dueBefore: dueBeforeMs,
    buried: buried === undefined ? undefined : ['consumer', 'attempts', 'too_late'][buried - 1],
  });
}

export function changedJson({ id, state, dueMs }) {
  return { job: id.toString(), state, due_ms: String(dueMs) };
}

export function countsJson(counts) {
  return Object.fromEntries(['delayed', 'ready', 'reserved', 'buried'].map((state) => [state, String(counts[state])]));
}

export function stageJson({ stage, count, p50Us, p99Us, p999Us, maxUs }) {
  return { stage, count: String(count), p50_us: String(p50Us), p99_us: String(p99Us), p999_us: String(p999Us), max_us: String(maxUs) };
}

/** When a job is to be due: `delay_ms` or `at_ms`. */
export function dueOf({ delay_ms: delayMs, at_ms: atMs }) {
  return atMs === undefined ? { delayMs: Number(delayMs) } : { at: BigInt(atMs) };
}

export function bulkChange({ change, to, ...due }) {
  if (change === 'reschedule') return { change, ...dueOf(due) };
  return change === 'move' ? { change, to } : { change };
}

/** The parts of an edit. One that `edited` names and that has no value is taken away. */
export function editOf({ edited, delay_ms, at_ms, priority = null, ttr_ms: ttrMs = null, body, attributes }) {
  const { headers = [], expires, attemptsMax = null, backoff, group = null, dedupeRetentionMs } = ATTRIBUTES.from(attributes);
  const options = {
    due: dueOf({ delay_ms, at_ms }),
    priority: { priority },
    ttr: { ttrMs },
    body: { body: fromBase64(body ?? '') },
    headers: { headers: Object.fromEntries(headers) },
    expires: expires?.kind === 1 ? { expiresAt: expires.ms } : { expiresAfterMs: expires ? Number(expires.ms) : null },
    attempts_max: { attemptsMax },
    backoff: { backoff: backoff ? backoffOf(backoff) : null },
    group: { group },
    dedupe_retention: { rememberMs: dedupeRetentionMs === undefined ? null : Number(dedupeRetentionMs) },
  };
  return Object.assign({}, ...edited.map((part) => options[part]));
}

function backoffOf({ kind, jitter: jitterPercent = 0, waitsMs }) {
  const [first, second] = waitsMs;
  const waits = [{ waitMs: first }, { stepMs: first, maxMs: second }, { firstMs: first, maxMs: second }, { waitsMs }][kind];
  return { kind: BACKOFF_KIND_NAMES[kind], ...waits, jitterPercent };
}

function backoffValue({ kind, jitterPercent = 0, waitMs, stepMs, firstMs, maxMs, waitsMs }) {
  const waits = waitsMs ?? [waitMs ?? stepMs ?? firstMs, maxMs].filter((wait) => wait !== undefined);
  return { kind: BACKOFF_KIND_NAMES.indexOf(kind), jitter: jitterPercent, waitsMs: waits };
}

function lateOf({ afterMs, action, value }) {
  const amount = { rate: { perSecond: value }, spread: { overMs: value } }[LATE_ACTION_NAMES[action]];
  return { afterMs, action: LATE_ACTION_NAMES[action], ...amount };
}

function lateValue({ afterMs, action, perSecond, overMs }) {
  return { afterMs, action: LATE_ACTION_NAMES.indexOf(action), value: perSecond ?? overMs ?? 0n };
}

/** Settings in JSON as a change of a topic's policy; `null` takes a setting away. */
export function policyOf(settings) {
  const { bodyMax: bodyBytesMax, backoff, late, ...rest } = SETTINGS.from(settings);
  return defined({ ...rest, bodyBytesMax, backoff: map(backoff, backoffOf), late: map(late, lateOf) });
}

export function policyJson({ bodyBytesMax: bodyMax, backoff, late, ...rest }) {
  return SETTINGS.to({ ...rest, bodyMax, backoff: map(backoff, backoffValue), late: map(late, lateValue) });
}

export function scheduleOf({ when, zone, overlap, missed, body }) {
  return defined({ when, zone, overlap, missed, job: body === undefined ? undefined : { body: fromBase64(body) } });
}

/** Which schedules to list. */
export function schedulesOf({ prefix, paused, next_before_ms: nextBeforeMs }) {
  return defined({ prefix, paused, nextBefore: nextBeforeMs === undefined ? undefined : BigInt(nextBeforeMs) });
}

/** Which time to fill. */
export function fillTimeOf({ from_ms: fromMs, to_ms: toMs, dry_run: dryRun }) {
  return defined({ from: BigInt(fromMs), to: BigInt(toMs), dryRun });
}

/** Which instants to preview. */
export function previewOf({ from_ms: fromMs, count }) {
  return defined({ from: fromMs === undefined ? undefined : BigInt(fromMs), count });
}

export function scheduleJson({ name, version, rules, paused, pauseNote, next }) {
  return { name, version, when: rules.when, paused, pause_note: pauseNote ?? '', next_ms: timeJson(next) };
}

export function groupJson({ name, ready, reserved, weight, isPaused, hold }) {
  return { name, ready: String(ready), reserved: String(reserved), weight, paused: isPaused, hold: hold ?? 'next' };
}

export function reasonJson({ why, jobs, until }) {
  return { why, jobs: String(jobs), until_ms: timeJson(until) };
}

export const timeJson = (time) => String(time?.getTime() ?? 0);
