// Generated from the schema by `make generate`. Do not edit.

/**
 * Every request and every response of the protocol, with the names and the meaning of their fields. Numbers of more
 * than 32 bits are `bigint`.
 */

import type { Element } from './bytes.js';

/** One header. */
export type HeaderValue = readonly [name: string, value: string];

/** When a job expires. */
export interface ExpiryValue {
  /** How ms counts: 0 after, 1 at. */
  readonly kind: number;
  /** A duration, or a time on the wall clock. */
  readonly ms: bigint;
}

/** The wait between attempts. */
export interface BackoffValue {
  /** How the wait grows: 0 fixed, 1 linear, 2 exponential, 3 list. */
  readonly kind: number;
  /** Shortens each wait by up to this percentage. */
  readonly jitter: number;
  /** The waits that the kind has. */
  readonly waitsMs: readonly number[];
}

/** What happens to late jobs. */
export interface LateValue {
  /** A job is late when it was due longer ago than this. */
  readonly afterMs: bigint;
  /** What happens then: 0 rate, 1 spread, 2 bury, 3 drop. */
  readonly action: number;
  /** The number that belongs to the action. */
  readonly value: bigint;
}

/** What a job can carry. */
export interface Attributes {
  /**
   * Name length `u8`, name of at least 1 byte, value; all texts. At most 1,024 bytes of names and values in total
   * (`TOO_LARGE`).
   */
  readonly headers?: readonly HeaderValue[];
  /**
   * Kind `u8` (0 after, 1 at), `u64` milliseconds; *after* at most `DELAY_MS_MAX`. The job is dropped at that time; if
   * it is reserved then, it is dropped when its lease ends without FINISH; if a clock was set forward past it, it is
   * dropped later. It must be later than the due time, or the job is refused with `EXPIRES_BEFORE_DUE`.
   */
  readonly expires?: ExpiryValue;
  /** `u32`, at least 1. After this many failed attempts the job is buried; see retries. */
  readonly attemptsMax?: number;
  /**
   * Kind `u8`, jitter `u8` (0 to 100 percent), then `u32` milliseconds: 0 fixed: the wait; 1 linear: step, maximum; 2
   * exponential: first, maximum; 3 list: 1 to 32 waits, the last one repeats.
   */
  readonly backoff?: BackoffValue;
  /**
   * Text, 1 to `GROUP_BYTES_MAX` bytes without control characters (`INVALID`): the group that the job belongs to, such
   * as a tenant.
   */
  readonly group?: string;
  /**
   * `u64` milliseconds, at most `DEDUPE_RETENTION_MS_MAX` (`INVALID`): how long the job is remembered after FINISH. 0
   * is as if the attribute were not there.
   */
  readonly dedupeRetentionMs?: bigint;
  /** `u64`, set by the producer. */
  readonly createdAtMs?: bigint;
  /** Opaque. */
  readonly scheduleReference?: Uint8Array;
  /**
   * `u64` milliseconds, at most `DELAY_MS_MAX` (`INVALID`): see PUSH. It only means something in a push that postpones.
   */
  readonly postponeMaxMs?: bigint;
  /**
   * Text, at most `REASON_BYTES_MAX` bytes, may be empty: the job is buried from the start, for this reason, as one is
   * that comes from elsewhere and was set aside there. Broken or longer: `MALFORMED`. It only means something in a
   * push; the job itself does not have it, and a schedule cannot (`INVALID`).
   */
  readonly buried?: string;
  /** Those that this version does not know. */
  readonly unknown?: readonly Element[];
}

/** Which jobs: those that meet all conditions that are there. */
export interface FilterValue {
  /** Its topic is this one. */
  readonly topic?: string;
  /**
   * Its state is one of these. Without this condition the first four: 1 delayed, 2 ready, 4 reserved, 8 buried, 16
   * finished.
   */
  readonly states?: number;
  /** It is due at this time or later. */
  readonly dueFromMs?: bigint;
  /** It is due before this time. */
  readonly dueBeforeMs?: bigint;
  /** It has a key that begins with these bytes. */
  readonly keyPrefix?: Uint8Array;
  /** It was reserved at least this often. */
  readonly attemptsMin?: number;
  /** It was reserved at most this often. */
  readonly attemptsMax?: number;
  /** It is buried for this reason, as in JOB, but not 0: 0 not_buried, 1 consumer, 2 attempts_used_up, 3 too_late. */
  readonly buried?: number;
  /** It has a last reason, and that contains this text. */
  readonly reason?: string;
  /** It belongs to this group. */
  readonly group?: string;
}

/** What a topic decides for its jobs. */
export interface Settings {
  /** The time to run of a job that is pushed with ttr_ms 0. */
  readonly ttrMs?: number;
  /** The priority of a job that is pushed with 4,294,967,295, up to 4,294,967,294. */
  readonly priority?: number;
  /** The *attempts max* of a job that has none, at least 1. */
  readonly attemptsMax?: number;
  /** The backoff of a job that has none. */
  readonly backoff?: BackoffValue;
  /** A job without an expiry expires this long after it is due, in milliseconds, up to `DELAY_MS_MAX`. */
  readonly expiresAfterMs?: bigint;
  /** A push that would add a job beyond this number is refused with `QUOTA`. */
  readonly jobsMax?: bigint;
  /** A push that would take *bytes* beyond this is refused with `QUOTA`. */
  readonly bytesMax?: bigint;
  /** A larger body is refused with `TOO_LARGE`. */
  readonly bodyMax?: number;
  /** No more jobs are reserved at the same time. */
  readonly leasesMax?: number;
  /** Deliveries per second, 1 to 1,000,000, evenly spread: at most a tenth of a second's worth comes at once. */
  readonly rate?: number;
  /**
   * A job is late when it was due longer ago than the first value, in milliseconds; what happens then, and the number
   * that belongs to it.
   */
  readonly late?: LateValue;
  /** The topic that takes the jobs that would be buried here. */
  readonly deadLetters?: string;
  /** How long a finished job is remembered that does not say it, in milliseconds, up to `DEDUPE_RETENTION_MS_MAX`. */
  readonly rememberMs?: bigint;
  /**
   * The URL that the server calls when a job is due: `http://` or `https://`, a name or an IP address, perhaps a port
   * from 1 to 65535, and a path without `.` and `..`.
   */
  readonly callBack?: string;
  /** `GET`, `POST`, `PUT`, `PATCH` or `DELETE`; POST without it. */
  readonly callBackMethod?: string;
  /** Lines of `Name: value`, none of a header that frames a request, of `Adjourn-*` or of `Webhook-*`. */
  readonly callBackHeaders?: string;
  /** What is sent in place of the job's body. */
  readonly callBackBody?: string;
  /** How long a call may take, in milliseconds. */
  readonly callBackTimeoutMs?: number;
  /** Calls at the same time, from 1. */
  readonly callBackConcurrency?: number;
  /** Calls per second, evenly spread, 1 to 1,000,000. */
  readonly callBackRate?: number;
  /** Under which name the servers have the secrets that sign calls: `A-Z a-z 0-9 . _ -`. */
  readonly callBackSecrets?: string;
  /** `bury` or `retry`: what becomes of a job whose call gets a status from 400 to 499. */
  readonly callBackRefused?: string;
  /** A condition on the reply under which the call counts as failed. */
  readonly callBackRetryIf?: string;
  /** `status` or `reply`: what success is known by. */
  readonly callBackSuccess?: string;
  /** A job may name the URL itself, in its header `call-back`. */
  readonly callBackOfJob?: true;
  /** How long attempts can be looked up, in milliseconds, from 1. */
  readonly callBackLogMs?: bigint;
  /** No calls are made. */
  readonly callBackPaused?: true;
  /**
   * How long a job waits that a caller of php-delayqueue pushes without a time, in milliseconds, up to `DELAY_MS_MAX`.
   */
  readonly callBackDelayMs?: bigint;
  /** Groups take turns. So they do with any of the settings below. */
  readonly fair?: true;
  /** Most jobs of one group that are reserved at the same time, at least 1. */
  readonly groupLeasesMax?: number;
  /** Most jobs of one group that are delivered per second, 1 to `RATE_PER_SECOND_MAX`. */
  readonly groupPerSecondMax?: number;
  /**
   * How many of them may be delivered at once, 1 to `RATE_PER_SECOND_MAX`; without it a tenth of the rate, at least 1.
   */
  readonly groupBurst?: number;
  /** `fifo`: one job of a group at a time, and the next one when that has ended. */
  readonly groupOrder?: string;
  /** With `fifo`, what a buried job means to those behind it: `block` (the default) or `continue`. */
  readonly groupOnBury?: string;
}

/** `null` takes a setting away; a setting that is not there stays as it is. */
export type SettingsChange = { readonly [K in keyof Settings]?: Settings[K] | null };

/** One job, by its id or by its key. */
export type JobReference =
  | { readonly jobKind: 0; readonly job: bigint }
  | { readonly jobKind: 1; readonly topic: string; readonly key: string };

/** One job to push. */
export interface NewJobValue {
  /** With due_kind: the due point. */
  readonly dueMs: bigint;
  /** Lower numbers are reserved first; 4,294,967,295 means the topic's default, or 1,024. */
  readonly priority: number;
  /** How long a consumer may hold it, 100 to 604,800,000; 0 means the topic's default, or 60,000. */
  readonly ttrMs: number;
  /** How due_ms counts: 0 after, 1 at. */
  readonly dueKind: number;
  /** What happens if a job with this key exists: 0 reject, 1 keep, 2 replace, 3 replace_any, 4 postpone. */
  readonly ifExists: number;
  /** The user's own id; empty for none. */
  readonly key: string;
  /** Its attributes; empty for none. */
  readonly attributes: Attributes;
  /** What the consumer gets; at most `body_bytes_max` bytes. */
  readonly body: Uint8Array;
}

/** What became of one pushed job. */
export interface PushResultValue {
  /** What became of it: 0 pushed, 1 kept, 2 replaced, 3 refused, 4 postponed. */
  readonly outcome: number;
  /** Why it was refused: an error code; else 0. */
  readonly code: number;
  /** The id that the table of outcomes says, or 0. */
  readonly job: bigint;
}

/** A lease on a job. */
export interface LeaseValue {
  /** The job's id. */
  readonly job: bigint;
  /** The lease's number, larger for each lease of a job. */
  readonly fence: bigint;
}

/** What became of one lease. */
export interface SettleResultValue {
  /** 0: done; else an error code. */
  readonly code: number;
}

/** A job that is now leased to the session. */
export interface DeliveredValue {
  /** Its id; with fence, the lease: send both to settle the job. */
  readonly job: bigint;
  /** The number of the lease. */
  readonly fence: bigint;
  /** When it was due, on the wall clock. */
  readonly dueMs: bigint;
  /** As pushed. */
  readonly priority: number;
  /** Number of times it was reserved, including this one. */
  readonly attempts: number;
  /** Remaining time of the lease when the frame is written. */
  readonly ttrLeftMs: number;
  /** Its topic. */
  readonly topic: string;
  /** The user's own id; empty for none. */
  readonly key: string;
  /** Its attributes; empty for none. */
  readonly attributes: Attributes;
  /** As pushed. */
  readonly body: Uint8Array;
  /** When the lease ends, on the clock that WELCOME and PONG of this connection show as `clock_ms`; 0: not shown. */
  readonly deadlineMs: bigint;
}

/** A job as it stands. */
export interface ShownValue {
  /** Its id. */
  readonly job: bigint;
  /** When it is or was due, on the wall clock. */
  readonly dueMs: bigint;
  /** Where it stands: 0 delayed, 1 ready, 2 reserved, 3 buried, 4 finished. */
  readonly state: number;
  /** Why it is buried: 0 not_buried, 1 consumer, 2 attempts_used_up, 3 too_late. */
  readonly buried: number;
  /** As pushed. */
  readonly priority: number;
  /** Number of times it was reserved. */
  readonly attempts: number;
  /** Length of a lease on it. */
  readonly ttrMs: number;
  /** Remaining time of its lease; 0 when it is not reserved. */
  readonly ttrLeftMs: number;
  /** Its topic. */
  readonly topic: string;
  /** The user's own id; empty for none. */
  readonly key: string;
  /** Its attributes. */
  readonly attributes: Attributes;
  /** As pushed; empty in a list without bodies. */
  readonly body: Uint8Array;
}

/** What happened to a job so far. Times are on the wall clock; 0 means that it did not happen, or is not known. */
export interface PastValue {
  /** When it was pushed. */
  readonly pushedMs: bigint;
  /** When it was first leased. */
  readonly reservedFirstMs: bigint;
  /** When it was last leased. */
  readonly reservedLastMs: bigint;
  /** When it was last edited. */
  readonly editedMs: bigint;
  /**
   * Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty
   * for none, and where the asking token lacks the right `admin` for all topics.
   */
  readonly heldBy: string;
  /** The last reason given with a RELEASE or BURY. */
  readonly reason: string;
}

/** A job on a page of a list. */
export interface ListedValue {
  /** Its id. */
  readonly job: bigint;
  /** When it is or was due, on the wall clock. */
  readonly dueMs: bigint;
  /** Where it stands: 0 delayed, 1 ready, 2 reserved, 3 buried, 4 finished. */
  readonly state: number;
  /** Why it is buried: 0 not_buried, 1 consumer, 2 attempts_used_up, 3 too_late. */
  readonly buried: number;
  /** As pushed. */
  readonly priority: number;
  /** Number of times it was reserved. */
  readonly attempts: number;
  /** Length of a lease on it. */
  readonly ttrMs: number;
  /** Remaining time of its lease; 0 when it is not reserved. */
  readonly ttrLeftMs: number;
  /** Its topic. */
  readonly topic: string;
  /** The user's own id; empty for none. */
  readonly key: string;
  /** Its attributes. */
  readonly attributes: Attributes;
  /** As pushed; empty in a list without bodies. */
  readonly body: Uint8Array;
  /** The length of the body, whether it is shown or not. */
  readonly bodyBytes: number;
  /** When it was pushed. */
  readonly pushedMs: bigint;
  /** When it was first leased. */
  readonly reservedFirstMs: bigint;
  /** When it was last leased. */
  readonly reservedLastMs: bigint;
  /** When it was last edited. */
  readonly editedMs: bigint;
  /**
   * Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty
   * for none, and where the asking token lacks the right `admin` for all topics.
   */
  readonly heldBy: string;
  /** The last reason given with a RELEASE or BURY. */
  readonly reason: string;
}

/** Counts, of one topic or of all. */
export interface TotalsValue {
  /** Jobs whose due time lies ahead. */
  readonly delayed: bigint;
  /** Jobs that wait for a consumer. */
  readonly ready: bigint;
  /** Jobs under a lease. */
  readonly reserved: bigint;
  /** Jobs set aside. */
  readonly buried: bigint;
  /** Jobs pushed or moved here so far. */
  readonly pushed: bigint;
  /** Jobs finished so far. */
  readonly finished: bigint;
  /** Jobs deleted, replaced, or moved to another topic so far. */
  readonly deleted: bigint;
  /** Jobs dropped by their expiry so far. */
  readonly expired: bigint;
  /** Time since the oldest ready job was due; 0 without one. */
  readonly oldestReadyMs: bigint;
}

/** The counts of one topic. */
export interface TopicCountValue {
  /** What is so: 1 paused. */
  readonly marks: number;
  /** Long polls and subscriptions that want its jobs at this moment. */
  readonly consumers: number;
  /**
   * How late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
   */
  readonly lateMs: bigint;
  /** Its name. */
  readonly topic: string;
  /** Jobs whose due time lies ahead. */
  readonly delayed: bigint;
  /** Jobs that wait for a consumer. */
  readonly ready: bigint;
  /** Jobs under a lease. */
  readonly reserved: bigint;
  /** Jobs set aside. */
  readonly buried: bigint;
  /** Jobs pushed or moved here so far. */
  readonly pushed: bigint;
  /** Jobs finished so far. */
  readonly finished: bigint;
  /** Jobs deleted, replaced, or moved to another topic so far. */
  readonly deleted: bigint;
  /** Jobs dropped by their expiry so far. */
  readonly expired: bigint;
  /** Time since the oldest ready job was due; 0 without one. */
  readonly oldestReadyMs: bigint;
}

/** How long one stage of the work on a node took, over its last minutes. Times are in microseconds. */
export interface StageValue {
  /** Its name. */
  readonly stage: string;
  /** How many durations there are. */
  readonly count: bigint;
  /** The median. */
  readonly p50Us: bigint;
  /** 99 % of them are at most this. */
  readonly p99Us: bigint;
  /** 99.9 % of them are at most this. */
  readonly p999Us: bigint;
  /** The longest. */
  readonly maxUs: bigint;
}

/** The jobs of a COUNT that are due in a part of a time. */
export interface DueBarValue {
  /**
   * Where it begins, on the wall clock, in milliseconds: up to the next one, or without an end. 0 in the first item:
   * the jobs before the bars.
   */
  readonly startMs: bigint;
  /** How many. */
  readonly jobs: bigint;
}

/** One client that is connected to the node. */
export interface ConnectionValue {
  /** Its number. It is never reused, not by another node and not after a restart. */
  readonly connection: bigint;
  /** The session that it speaks for; 0 before WELCOME, and after the session has ended. */
  readonly session: bigint;
  /** When it connected, on the wall clock. */
  readonly sinceMs: bigint;
  /** Leases that the session holds, without those that outlive it. */
  readonly leases: number;
  /** Its subscriptions. */
  readonly subscriptions: number;
  /** Its waiting RESERVEs. */
  readonly reserves: number;
  /** Remaining credit of its subscriptions, in jobs; below 0 counts as 0. */
  readonly creditJobs: bigint;
  /** The same in bytes. */
  readonly creditBytes: bigint;
  /**
   * Bytes for it that its socket has not yet accepted, as far as known: what it accepted is reported in steps of up to
   * 256 KiB, so less than that says nothing.
   */
  readonly unsentBytes: bigint;
  /** What is so: 1 more_topics. */
  readonly marks: number;
  /** Its network address. */
  readonly address: string;
  /** The name in its HELLO. */
  readonly clientName: string;
  /** Some of the topics that it waits for. */
  readonly topics: readonly string[];
}

/** One node of the cluster, as clients see it. */
export interface MemberValue {
  /** Its number. */
  readonly node: bigint;
  /** What is so: 1 leads. */
  readonly marks: number;
  /**
   * Where clients connect, as `host:port`. Behind a proxy or NAT, start each node with `--client-address`, or clients
   * go round.
   */
  readonly address: string;
}

/** One member of the cluster, as one node sees it. Unknown values are 0. */
export interface NodeValue {
  /** Its number. */
  readonly node: bigint;
  /** What it is. A newer server may have more roles: show them as unknown: 0 learner, 1 voter, 2 leader. */
  readonly role: number;
  /** What is so, and what is known: 1 connected, 2 matched, 4 applied, 8 ahead, 16 compared, 32 same_state. */
  readonly marks: number;
  /** The last entry that it has, durable. Only the leader knows it of other members. */
  readonly matched: bigint;
  /** The last entry that it reported as applied. */
  readonly applied: bigint;
  /** How far its wall clock is ahead of the reporting node's; negative if it is behind. */
  readonly aheadMs: bigint;
  /** Members compare the hashes of their states after certain entries: the newest of these that it reported. */
  readonly audited: bigint;
  /** The address for other members; empty if unknown. */
  readonly peerAddress: string;
  /** The address for clients; empty if unknown. */
  readonly clientAddress: string;
}

/** When a schedule fires, and what it does then. */
export interface ScheduleRulesValue {
  /** From when `@every` counts; 0: from when the schedule is set first. */
  readonly originMs: bigint;
  /** It does not fire before this time; 0 for no such time. */
  readonly startMs: bigint;
  /** It does not fire after this time; 0 for no such time. */
  readonly endMs: bigint;
  /** It ends when it has pushed a job at so many instants; 0: it does not. */
  readonly count: bigint;
  /**
   * With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
   */
  readonly windowMs: bigint;
  /** With *missed* `all`: at most so many instants, the last ones; 0 means 100. */
  readonly missedMax: number;
  /**
   * A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
   */
  readonly jitterMs: number;
  /** It is paused after so many failures one after another; 0: it is not. */
  readonly failuresMax: number;
  /** What happens when the clocks of its zone are changed: 0 vixie, 1 literal. */
  readonly dst: number;
  /** Which of the instants that passed unnoticed are fired late: 0 last, 1 none, 2 all. */
  readonly missed: number;
  /** What it does while an earlier job of it has not ended: 0 skip, 1 allow, 2 queue_one, 3 replace. */
  readonly overlap: number;
  /** A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times. */
  readonly when: string;
  /** The IANA name of the time zone of a cron expression; empty means UTC. */
  readonly zone: string;
  /** The key of its jobs; empty: the name, `@`, and the instant in milliseconds. */
  readonly key: string;
  /** For people. */
  readonly note: string;
}

/** What the jobs of a schedule have in common. */
export interface JobTemplateValue {
  /** As in PUSH. */
  readonly priority: number;
  /** As in PUSH. */
  readonly ttrMs: number;
  /** As in PUSH. An expiry after a duration counts from when each job is pushed. */
  readonly attributes: Attributes;
  /** What the consumer gets; at most `body_bytes_max` bytes. */
  readonly body: Uint8Array;
}

/** Where a group stands. */
export interface GroupStateValue {
  /** Its jobs that wait for a consumer. */
  readonly ready: bigint;
  /** Its jobs that a consumer has. */
  readonly reserved: bigint;
  /** For how long the next of them has been ready; 0 if none is. */
  readonly oldestMs: bigint;
  /** Until when hold lasts, on the wall clock; 0 if that is not known. */
  readonly untilMs: bigint;
  /** How many jobs it gives at a turn. */
  readonly weight: number;
  /**
   * What holds it back: 0 next, 1 delayed, 2 topic_paused, 3 topic_leases, 4 topic_rate, 5 group_paused, 6
   * group_leases, 7 group_rate, 8 group_reserved, 9 group_retry, 10 group_buried, 11 behind, 12 no_consumer, 13
   * call_back_paused, 14 reserved, 15 buried, 16 finished, 17 empty, 18 call_back_suspended.
   */
  readonly hold: number;
  /** 1 if an operator paused it. */
  readonly paused: number;
  /** Its name. */
  readonly name: string;
}

/** One reason why a job, a topic or a group gives nothing now. */
export interface ReasonValue {
  /**
   * The reason: 0 next, 1 delayed, 2 topic_paused, 3 topic_leases, 4 topic_rate, 5 group_paused, 6 group_leases, 7
   * group_rate, 8 group_reserved, 9 group_retry, 10 group_buried, 11 behind, 12 no_consumer, 13 call_back_paused, 14
   * reserved, 15 buried, 16 finished, 17 empty, 18 call_back_suspended.
   */
  readonly why: number;
  /** When it began, on the wall clock; 0 if that is not known. */
  readonly sinceMs: bigint;
  /** When it ends, on the wall clock; 0 if that is not known. */
  readonly untilMs: bigint;
  /** With `behind`: how many jobs come first; with a limit of leases: how many there are; else 0. */
  readonly jobs: bigint;
  /** One sentence for a person. It may change between versions: decide by the reason. */
  readonly text: string;
}

/** Where a schedule stands. */
export interface ScheduleStateValue {
  /** Its id. */
  readonly schedule: bigint;
  /** Its next instant; 0 if there is none any more. */
  readonly nextMs: bigint;
  /** Instants at which it pushed a job. */
  readonly fired: bigint;
  /** How often it was set. */
  readonly version: number;
  /** Its jobs that have not ended. */
  readonly running: number;
  /** Jobs that failed one after another until now. */
  readonly failures: number;
  /** Why it does not fire at present: 0 not_paused, 1 user, 2 failures. */
  readonly paused: number;
  /** What is so: 1 come, 2 held. */
  readonly marks: number;
}

/** What a schedule did at an instant, or at several ones. */
export interface FiringValue {
  /** The instant; the first of several that it skipped together. */
  readonly instantMs: bigint;
  /** The last of them. */
  readonly lastMs: bigint;
  /** How many they are; 10,000 means that or more. */
  readonly instants: bigint;
  /** When the schedule fired or skipped it. */
  readonly atMs: bigint;
  /** The job that it pushed, or 0. */
  readonly job: bigint;
  /**
   * What became of it: 0 pushed, 1 finished, 2 failed, 3 deleted, 4 expired, 5 missed, 6 overlap, 7 refused, 8
   * key_taken.
   */
  readonly fired: number;
}

/** An instant, and what the clocks of its zone show. */
export interface LocalInstantValue {
  /** The instant. */
  readonly instantMs: bigint;
  /** Date, time, offset and abbreviation in the zone, for example `2027-03-28 03:00:00 +02:00 CEST`. */
  readonly local: string;
}

/** A schedule on a page of a list. */
export interface ListedScheduleValue {
  /** Its id. */
  readonly schedule: bigint;
  /** Its next instant; 0 if there is none any more. */
  readonly nextMs: bigint;
  /** Instants at which it pushed a job. */
  readonly fired: bigint;
  /** How often it was set. */
  readonly version: number;
  /** Its jobs that have not ended. */
  readonly running: number;
  /** Jobs that failed one after another until now. */
  readonly failures: number;
  /** Why it does not fire at present: 0 not_paused, 1 user, 2 failures. */
  readonly paused: number;
  /** What is so: 1 come, 2 held. */
  readonly marks: number;
  /** From when `@every` counts; 0: from when the schedule is set first. */
  readonly originMs: bigint;
  /** It does not fire before this time; 0 for no such time. */
  readonly startMs: bigint;
  /** It does not fire after this time; 0 for no such time. */
  readonly endMs: bigint;
  /** It ends when it has pushed a job at so many instants; 0: it does not. */
  readonly count: bigint;
  /**
   * With *missed* `last` or `all`: only instants that were missed no longer ago than this, in milliseconds; 0 for any.
   */
  readonly windowMs: bigint;
  /** With *missed* `all`: at most so many instants, the last ones; 0 means 100. */
  readonly missedMax: number;
  /**
   * A job is due up to this long after its instant, in milliseconds: how long follows from the name and the instant.
   */
  readonly jitterMs: number;
  /** It is paused after so many failures one after another; 0: it is not. */
  readonly failuresMax: number;
  /** What happens when the clocks of its zone are changed: 0 vixie, 1 literal. */
  readonly dst: number;
  /** Which of the instants that passed unnoticed are fired late: 0 last, 1 none, 2 all. */
  readonly missed: number;
  /** What it does while an earlier job of it has not ended: 0 skip, 1 allow, 2 queue_one, 3 replace. */
  readonly overlap: number;
  /** A recurrence: a cron expression, `@daily` and the like, `@every 90s`, or `@at` with times. */
  readonly when: string;
  /** The IANA name of the time zone of a cron expression; empty means UTC. */
  readonly zone: string;
  /** The key of its jobs; empty: the name, `@`, and the instant in milliseconds. */
  readonly key: string;
  /** For people. */
  readonly note: string;
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
  /** What the user who paused it noted; empty for nothing. */
  readonly pauseNote: string;
}

/** Of messages without fields. */
export type NoFields = Readonly<Record<string, never>>;

/** HELLO: Opens the conversation; the first frame on every connection. */
export interface HelloFields {
  /** The oldest protocol version that the client speaks. */
  readonly versionMin: number;
  /** The newest one. */
  readonly versionMax: number;
  /** What the client wants: 1 leases_outlive, 2 no_session. */
  readonly options: number;
  /** The heartbeat that the client asks for, see heartbeats; 0 takes the server's. */
  readonly heartbeatMs: number;
  /** The session to resume; 0 opens a new one. */
  readonly session: bigint;
  /** The secret of that session; zeros without one. */
  readonly secret: Uint8Array;
  /** At most 64 bytes, for the server's logs. */
  readonly clientName: string;
  /** Authentication token, at most 256 bytes; empty for none. */
  readonly token: Uint8Array;
}

/** PUSH: Adds jobs to one topic. */
export interface PushFields {
  /** Number of the first job, see exactly-once push; 0 for no protection against repeats. */
  readonly sequence: bigint;
  /** The topic of all jobs. */
  readonly topic: string;
  /** 1 to `push_jobs_max` jobs. */
  readonly jobs: readonly NewJobValue[];
  /** Instead of a sequence: a number under which a repeat is known, see idempotency keys. Absent or 0 for none. */
  readonly idempotency: bigint;
  /**
   * How many jobs the list has, if it goes in several PUSHes under one idempotency key. Absent or 0: this PUSH is the
   * whole list.
   */
  readonly listJobs: number;
}

/** RESERVE: Long-poll: waits for jobs of some topics. */
export interface ReserveFields {
  /**
   * Answer without a job after this time; at most 3,600,000. 0 does not wait: such a RESERVE is ordered like a change.
   */
  readonly waitMs: bigint;
  /** 1 to `reserve_jobs_max`. */
  readonly jobsMax: number;
  /** 1 to 64 topics. */
  readonly topics: readonly string[];
  /** One per topic, in the same order, each at least 1; empty or absent for no weights. */
  readonly weights: readonly number[];
}

/** SUBSCRIBE: Asks for jobs to be sent as they become ready. */
export interface SubscribeFields {
  /** Most jobs held at once, at most 65,536. */
  readonly creditJobs: number;
  /** Most bytes of bodies held at once, at most 268,435,456. */
  readonly creditBytes: bigint;
  /** As in RESERVE. */
  readonly topics: readonly string[];
  /** As in RESERVE. */
  readonly weights: readonly number[];
}

/** CREDIT: Adds credit to a subscription. */
export interface CreditFields {
  /** The request id of SUBSCRIBE. */
  readonly subscription: number;
  /** More jobs, at most 65,536. */
  readonly creditJobs: number;
  /** More bytes, at most 268,435,456. */
  readonly creditBytes: bigint;
}

/** UNSUBSCRIBE: Ends a subscription; jobs already sent stay leased. */
export interface UnsubscribeFields {
  /** The request id of SUBSCRIBE. */
  readonly subscription: number;
}

/**
 * CANCEL: Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly
 * none.
 */
export interface CancelFields {
  /** The request id of RESERVE. */
  readonly request: number;
}

/**
 * LEASES: Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are
 * not among them.
 */
export interface LeasesFields {
  /** A job id: list only later ones. 0 for the first page. */
  readonly after: bigint;
  /** 1 to `reserve_jobs_max`. */
  readonly jobsMax: number;
}

/**
 * RESERVE_JOB: Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group
 * back.
 */
export interface ReserveJobFields {
  /** The job. */
  readonly reference: JobReference;
}

/** FINISH: Says that jobs are done: they are removed. */
export interface FinishFields {
  /** 1 to `leases_max` leases. */
  readonly leases: readonly LeaseValue[];
}

/** RELEASE: Gives jobs back, to be attempted again. */
export interface ReleaseFields {
  /**
   * Whether the attempt counts, and when the next one is: 0 to ten years, or one of the values that `RELEASE_` begins.
   */
  readonly delayMs: bigint;
  /** 1 to `leases_max` leases. */
  readonly leases: readonly LeaseValue[];
  /** What each job shows as its last reason from now on, at most 1,024 bytes; empty for none. */
  readonly reason: string;
}

/** TOUCH: Starts the time to run anew. */
export interface TouchFields {
  /** The leases' new time to run, 100 to 604,800,000; 0 takes the jobs' own. */
  readonly ttrMs: number;
  /** 1 to `leases_max` leases. */
  readonly leases: readonly LeaseValue[];
}

/** BURY: Sets jobs aside until somebody kicks them. */
export interface BuryFields {
  /** 1 to `leases_max` leases. */
  readonly leases: readonly LeaseValue[];
  /** As in RELEASE. */
  readonly reason: string;
}

/** GET: Reads one job. */
export interface GetFields {
  /** The job. */
  readonly reference: JobReference;
}

/** DELETE: Removes one job, whatever its state. */
export interface DeleteFields {
  /** The job. */
  readonly reference: JobReference;
}

/** RESCHEDULE: Gives one delayed or ready job a new due time; a buried one is kicked first. */
export interface RescheduleFields {
  /** With due_kind: the due point. */
  readonly dueMs: bigint;
  /** How due_ms counts: 0 after, 1 at. */
  readonly dueKind: number;
  /** The job. */
  readonly reference: JobReference;
  /** Only if the job is still of this version; absent or 0: in any case. */
  readonly ifVersion: bigint;
}

/** RUN_NOW: Makes one delayed job ready at once. */
export interface RunNowFields {
  /** The job. */
  readonly reference: JobReference;
}

/** KICK: Makes one buried job ready. */
export interface KickFields {
  /** The job. */
  readonly reference: JobReference;
}

/** PEEK: Reads the next job of a topic without reserving it: the first ready one, else the first delayed. */
export interface PeekFields {
  /** The topic to look at. */
  readonly topic: string;
}

/** KICK_MANY: Makes buried jobs of a topic ready: by priority, then by when they were due, then by id. */
export interface KickManyFields {
  /** Most jobs to kick: 1 to `KICK_JOBS_MAX`. */
  readonly jobsMax: number;
  /** The topic of the buried jobs. */
  readonly topic: string;
}

/** LIST: Shows jobs, a page at a time. */
export interface ListFields {
  /** Most jobs on the page: 1 to `LIST_JOBS_MAX`. */
  readonly jobsMax: number;
  /** In which order: 0 due, 1 id, 2 key. */
  readonly order: number;
  /** What to show: 1 bodies. */
  readonly marks: number;
  /** The cursor of the previous page; empty for the first page. */
  readonly cursor: Uint8Array;
  /** The conditions that the jobs meet. */
  readonly filter: FilterValue;
}

/** COUNT: Counts the jobs that match, all together or by when they are due. */
export interface CountFields {
  /** The conditions that the jobs meet, as in LIST. */
  readonly filter: FilterValue;
  /** Counts the jobs by when they are due, too, in so many bars. Absent or 0: only all together. */
  readonly bars: number;
  /** Where the first bar begins, on the wall clock, in milliseconds. */
  readonly barsFromMs: bigint;
  /** The width of a bar in milliseconds, at least 1 if there are bars. */
  readonly barMs: bigint;
}

/** BULK: Does the same to many jobs, a bounded number with each request. */
export interface BulkFields {
  /** Most jobs to change in this step: 1 to `BULK_JOBS_MAX`. */
  readonly jobsMax: number;
  /**
   * What to do to each: the same effect as the request for one job: 0 delete, 1 kick, 2 run_now, 3 reschedule, 4 move.
   */
  readonly change: number;
  /** For 3: the new due time, on the wall clock. Else 0, which is not looked at. */
  readonly dueMs: bigint;
  /** The cursor of the previous step; empty for the first step. */
  readonly cursor: Uint8Array;
  /** The conditions that the jobs meet, as in LIST. */
  readonly filter: FilterValue;
  /** With 4: the topic to which the jobs go. Else absent or empty. */
  readonly to: string;
}

/** EDIT: Changes parts of one delayed, ready or buried job. */
export interface EditFields {
  /** With due_kind: the new due point. */
  readonly dueMs: bigint;
  /** The new priority, as in PUSH. */
  readonly priority: number;
  /** The new time of a lease, as in PUSH. */
  readonly ttrMs: number;
  /**
   * The parts that change; at least one. The fields of other parts must be valid, and are not used: 1 due, 2 priority,
   * 4 ttr, 8 body, 16 headers, 32 expires, 64 attempts_max, 128 backoff, 256 dedupe_retention, 512 group.
   */
  readonly edited: number;
  /** How due_ms counts: 0 after, 1 at. */
  readonly dueKind: number;
  /** The job. */
  readonly reference: JobReference;
  /**
   * The new attributes of the parts that change. One that is missing here is taken away: the topic's default then
   * counts, if there is one.
   */
  readonly attributes: Attributes;
  /** The new body; at most `body_bytes_max` bytes. */
  readonly body: Uint8Array;
  /** Only if the job is still of this version; absent or 0: in any case. */
  readonly ifVersion: bigint;
}

/** PAUSE: Stops the reserving of a topic's jobs. */
export interface PauseFields {
  /** The topic to pause. */
  readonly topic: string;
  /** The pause ends by itself after this time; more than ten years count as ten. Absent or 0: it lasts until RESUME. */
  readonly forMs: bigint;
}

/** RESUME: Starts it again. */
export interface ResumeFields {
  /** The topic to resume. */
  readonly topic: string;
}

/** CONNECTIONS: Lists the clients that are connected to this node, by number. */
export interface ConnectionsFields {
  /** Only higher numbers; 0 for the first page. */
  readonly after: bigint;
  /** 1 to `CONNECTIONS_LISTED_MAX`. */
  readonly connectionsMax: number;
}

/** DISCONNECT: Closes the connection of another client to this node. */
export interface DisconnectFields {
  /** Its number, as CONNECTION_LIST shows it. */
  readonly connection: bigint;
  /** What else to do: 1 ends_session. */
  readonly options: number;
}

/** TOPIC_SET: Changes what a topic decides for its jobs. The topic is made if it is new. */
export interface TopicSetFields {
  /** The topic whose policy changes. */
  readonly topic: string;
  /** The settings to change, in rising order of their tags. An empty value takes a setting away. */
  readonly settings: SettingsChange;
}

/** TOPIC_DELETE: Forgets a topic that has no jobs, with its settings. */
export interface TopicDeleteFields {
  /** The topic to forget. */
  readonly topic: string;
}

/** TOPIC_SHOW: Reads what a topic decides for its jobs. */
export interface TopicShowFields {
  /** The topic that is asked for. */
  readonly topic: string;
}

/** ADVANCE: Moves the clock of a server for tests. Answered when everything that is due by then is carried out. */
export interface AdvanceFields {
  /** How far the clock moves: 0 by, 1 to_next. */
  readonly step: number;
  /** With 0: the duration; else 0, which is not looked at. */
  readonly byMs: bigint;
}

/** BACKUP_READ: Reads a part of that backup. */
export interface BackupReadFields {
  /** Where the part begins. */
  readonly offset: bigint;
  /** Most bytes of it: 1 to `BACKUP_READ_BYTES_MAX`. */
  readonly bytes: number;
}

/** SCHEDULE_PREVIEW: Says when a schedule with these rules would fire, without setting it. */
export interface SchedulePreviewFields extends ScheduleRulesValue {
  /** Only instants after this time; 0 for now. */
  readonly fromMs: bigint;
  /** 1 to `INSTANTS_SHOWN_MAX`. */
  readonly instantsMax: number;
}

/** CLUSTER_ADD: Adds the node that listens for its peers at an address; it votes when it has caught up. */
export interface ClusterAddFields {
  /** Where it listens for its peers, as `host:port`. */
  readonly address: string;
}

/** CLUSTER_REMOVE: Removes a member. It cannot come back under its number. */
export interface ClusterRemoveFields {
  /** The member's number. */
  readonly node: bigint;
}

/** CLUSTER_TRANSFER: Hands leadership to another member. */
export interface ClusterTransferFields {
  /** To which; 0 leaves it to the leader. */
  readonly node: bigint;
}

/** GROUP_SET: Changes the settings of one group. With weight 1 and not paused it has none. */
export interface GroupSetFields {
  /** How many jobs it gives at a turn, 1 to `GROUP_WEIGHT_MAX`; 0: as before. */
  readonly weight: number;
  /** Whether it is paused or resumed: 0 keep, 1 pause, 2 resume. */
  readonly pause: number;
  /** Its topic. */
  readonly topic: string;
  /** Its name. */
  readonly group: string;
}

/**
 * GROUP_LIST: Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by
 * name.
 */
export interface GroupListFields {
  /** 1 to `GROUPS_LISTED_MAX`. */
  readonly groupsMax: number;
  /** Their topic. */
  readonly topic: string;
  /** Only those with names after this one; empty for the first page, and then what the page before says. */
  readonly after: string;
  /** Only those whose names begin like this. */
  readonly prefix: string;
}

/** WHY: Says why a job is not running. */
export interface WhyFields {
  /** The job. */
  readonly reference: JobReference;
}

/** TOPIC_WHY: Says why a topic, or one of its groups, gives no job. */
export interface TopicWhyFields {
  /** The topic. */
  readonly topic: string;
  /** The group; empty for the whole topic. */
  readonly group: string;
}

/** SCHEDULE_SET: Creates a schedule, or gives the one of this name another content. The topic is made if it is new. */
export interface ScheduleSetFields extends ScheduleRulesValue, JobTemplateValue {
  /** The topic of its jobs. The token needs the right to push there, too. */
  readonly topic: string;
  /** Its name, unique in the topic. */
  readonly name: string;
  /** Only if it was set so often; 4,294,967,295: only if there is none. Absent or 0: in any case. */
  readonly ifVersion: number;
}

/** SCHEDULE_SHOW: Reads one schedule, and what it did of late. */
export interface ScheduleShowFields {
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
}

/**
 * SCHEDULE_LIST: Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a
 * topic in the order in which they were made.
 */
export interface ScheduleListFields {
  /** 1 to `SCHEDULES_LISTED_MAX`. */
  readonly schedulesMax: number;
  /** Only those with a next instant before this one; 0 for all. */
  readonly nextBeforeMs: bigint;
  /** Only those that are paused, or those that are not: 0 any, 1 paused, 2 active. */
  readonly paused: number;
  /** The topic of their jobs; empty for all topics. */
  readonly topic: string;
  /** Only those whose names begin like this. */
  readonly prefix: string;
  /** The cursor of the previous page; empty for the first page. */
  readonly cursor: Uint8Array;
}

/** SCHEDULE_DELETE: Forgets a schedule. Its jobs stay. */
export interface ScheduleDeleteFields {
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
}

/** SCHEDULE_PAUSE: Lets a schedule fire no more until it is resumed. */
export interface SchedulePauseFields {
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
  /** Why, for people, at most 1,024 bytes. To pause again replaces it; empty for none, or to keep it. */
  readonly note: string;
}

/** SCHEDULE_RESUME: Lets a paused schedule fire again. *missed* says what happens to the instants that passed. */
export interface ScheduleResumeFields {
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
}

/** SCHEDULE_RUN: Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays. */
export interface ScheduleRunFields {
  /** The topic of its jobs. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
}

/**
 * SCHEDULE_FILL: Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once,
 * unless the topic has a job with the key of the instant.
 */
export interface ScheduleFillFields {
  /** The first time that counts; for the next part what the part before says. */
  readonly fromMs: bigint;
  /** The last time that counts. It must not be ahead. */
  readonly toMs: bigint;
  /** 1: it pushes nothing, and counts the instants. */
  readonly dryRun: number;
  /** The topic of its jobs. The token needs the right to read there, too; for a dry run that right alone. */
  readonly topic: string;
  /** Its name. */
  readonly name: string;
}

/** The opcode of each request. */
export const REQUESTS = {
  /** Opens the conversation; the first frame on every connection. */
  HELLO: 0x01,
  /** Asks for a PONG. */
  PING: 0x02,
  /** Ends the session: its leases are given back at once (unless they outlive it). */
  GOODBYE: 0x03,
  /** Adds jobs to one topic. */
  PUSH: 0x10,
  /** Long-poll: waits for jobs of some topics. */
  RESERVE: 0x20,
  /** Asks for jobs to be sent as they become ready. */
  SUBSCRIBE: 0x21,
  /** Adds credit to a subscription. */
  CREDIT: 0x22,
  /** Ends a subscription; jobs already sent stay leased. */
  UNSUBSCRIBE: 0x23,
  /**
   * Ends the wait of a RESERVE of this connection: it is answered with the jobs that it has got by then, mostly none.
   */
  CANCEL: 0x24,
  /**
   * Reads the leases that this session holds, in the order of the job ids. Those that outlive their session are not
   * among them.
   */
  LEASES: 0x25,
  /** Reserves one job, whether it is ready, delayed or buried, and whatever holds its topic or its group back. */
  RESERVE_JOB: 0x26,
  /** Says that jobs are done: they are removed. */
  FINISH: 0x30,
  /** Gives jobs back, to be attempted again. */
  RELEASE: 0x31,
  /** Starts the time to run anew. */
  TOUCH: 0x32,
  /** Sets jobs aside until somebody kicks them. */
  BURY: 0x33,
  /** Reads one job. */
  GET: 0x40,
  /** Removes one job, whatever its state. */
  DELETE: 0x41,
  /** Gives one delayed or ready job a new due time; a buried one is kicked first. */
  RESCHEDULE: 0x42,
  /** Makes one delayed job ready at once. */
  RUN_NOW: 0x43,
  /** Makes one buried job ready. */
  KICK: 0x44,
  /** Reads the next job of a topic without reserving it: the first ready one, else the first delayed. */
  PEEK: 0x45,
  /** Makes buried jobs of a topic ready: by priority, then by when they were due, then by id. */
  KICK_MANY: 0x46,
  /** Shows jobs, a page at a time. */
  LIST: 0x47,
  /** Counts the jobs that match, all together or by when they are due. */
  COUNT: 0x48,
  /** Does the same to many jobs, a bounded number with each request. */
  BULK: 0x49,
  /** Changes parts of one delayed, ready or buried job. */
  EDIT: 0x4a,
  /** Stops the reserving of a topic's jobs. */
  PAUSE: 0x50,
  /** Starts it again. */
  RESUME: 0x51,
  /** Counts by topic. */
  TOPICS: 0x52,
  /** Counts of the whole queue, and by topic. */
  STATS: 0x53,
  /** Lists the clients that are connected to this node, by number. */
  CONNECTIONS: 0x54,
  /** Closes the connection of another client to this node. */
  DISCONNECT: 0x55,
  /** Changes what a topic decides for its jobs. The topic is made if it is new. */
  TOPIC_SET: 0x56,
  /** Forgets a topic that has no jobs, with its settings. */
  TOPIC_DELETE: 0x57,
  /** Reads what a topic decides for its jobs. */
  TOPIC_SHOW: 0x58,
  /** Moves the clock of a server for tests. Answered when everything that is due by then is carried out. */
  ADVANCE: 0x59,
  /** Asks for a backup of the state as it is now, to be read over this connection. */
  BACKUP_BEGIN: 0x60,
  /** Reads a part of that backup. */
  BACKUP_READ: 0x61,
  /** Lets go of it. The end of the connection does the same. */
  BACKUP_END: 0x62,
  /** Says when a schedule with these rules would fire, without setting it. */
  SCHEDULE_PREVIEW: 0x6f,
  /**
   * Asks for the members of the cluster and how far each is. Any node answers, also one that is not ready for anything
   * else.
   */
  CLUSTER_STATUS: 0x70,
  /** Adds the node that listens for its peers at an address; it votes when it has caught up. */
  CLUSTER_ADD: 0x71,
  /** Removes a member. It cannot come back under its number. */
  CLUSTER_REMOVE: 0x72,
  /** Hands leadership to another member. */
  CLUSTER_TRANSFER: 0x73,
  /** Changes the settings of one group. With weight 1 and not paused it has none. */
  GROUP_SET: 0x74,
  /** Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name. */
  GROUP_LIST: 0x75,
  /** Says why a job is not running. */
  WHY: 0x76,
  /** Says why a topic, or one of its groups, gives no job. */
  TOPIC_WHY: 0x77,
  /** Creates a schedule, or gives the one of this name another content. The topic is made if it is new. */
  SCHEDULE_SET: 0x78,
  /** Reads one schedule, and what it did of late. */
  SCHEDULE_SHOW: 0x79,
  /**
   * Lists schedules of a topic, or of all topics that the token may read, a page at a time: those of a topic in the
   * order in which they were made.
   */
  SCHEDULE_LIST: 0x7a,
  /** Forgets a schedule. Its jobs stay. */
  SCHEDULE_DELETE: 0x7b,
  /** Lets a schedule fire no more until it is resumed. */
  SCHEDULE_PAUSE: 0x7c,
  /** Lets a paused schedule fire again. *missed* says what happens to the instants that passed. */
  SCHEDULE_RESUME: 0x7d,
  /** Pushes a job of a schedule now, whether an earlier one has ended or not. Its next instant stays. */
  SCHEDULE_RUN: 0x7e,
  /**
   * Pushes jobs for instants of a schedule in a time that has passed, a part at a time: due at once, unless the topic
   * has a job with the key of the instant.
   */
  SCHEDULE_FILL: 0x7f,
} as const;

export interface RequestFieldsByName {
  readonly HELLO: HelloFields;
  readonly PING: NoFields;
  readonly GOODBYE: NoFields;
  readonly PUSH: PushFields;
  readonly RESERVE: ReserveFields;
  readonly SUBSCRIBE: SubscribeFields;
  readonly CREDIT: CreditFields;
  readonly UNSUBSCRIBE: UnsubscribeFields;
  readonly CANCEL: CancelFields;
  readonly LEASES: LeasesFields;
  readonly RESERVE_JOB: ReserveJobFields;
  readonly FINISH: FinishFields;
  readonly RELEASE: ReleaseFields;
  readonly TOUCH: TouchFields;
  readonly BURY: BuryFields;
  readonly GET: GetFields;
  readonly DELETE: DeleteFields;
  readonly RESCHEDULE: RescheduleFields;
  readonly RUN_NOW: RunNowFields;
  readonly KICK: KickFields;
  readonly PEEK: PeekFields;
  readonly KICK_MANY: KickManyFields;
  readonly LIST: ListFields;
  readonly COUNT: CountFields;
  readonly BULK: BulkFields;
  readonly EDIT: EditFields;
  readonly PAUSE: PauseFields;
  readonly RESUME: ResumeFields;
  readonly TOPICS: NoFields;
  readonly STATS: NoFields;
  readonly CONNECTIONS: ConnectionsFields;
  readonly DISCONNECT: DisconnectFields;
  readonly TOPIC_SET: TopicSetFields;
  readonly TOPIC_DELETE: TopicDeleteFields;
  readonly TOPIC_SHOW: TopicShowFields;
  readonly ADVANCE: AdvanceFields;
  readonly BACKUP_BEGIN: NoFields;
  readonly BACKUP_READ: BackupReadFields;
  readonly BACKUP_END: NoFields;
  readonly SCHEDULE_PREVIEW: SchedulePreviewFields;
  readonly CLUSTER_STATUS: NoFields;
  readonly CLUSTER_ADD: ClusterAddFields;
  readonly CLUSTER_REMOVE: ClusterRemoveFields;
  readonly CLUSTER_TRANSFER: ClusterTransferFields;
  readonly GROUP_SET: GroupSetFields;
  readonly GROUP_LIST: GroupListFields;
  readonly WHY: WhyFields;
  readonly TOPIC_WHY: TopicWhyFields;
  readonly SCHEDULE_SET: ScheduleSetFields;
  readonly SCHEDULE_SHOW: ScheduleShowFields;
  readonly SCHEDULE_LIST: ScheduleListFields;
  readonly SCHEDULE_DELETE: ScheduleDeleteFields;
  readonly SCHEDULE_PAUSE: SchedulePauseFields;
  readonly SCHEDULE_RESUME: ScheduleResumeFields;
  readonly SCHEDULE_RUN: ScheduleRunFields;
  readonly SCHEDULE_FILL: ScheduleFillFields;
}

export type RequestName = keyof RequestFieldsByName;
export type RequestFields<N extends RequestName> = RequestFieldsByName[N];

/** A request with its fields. */
export type Request<N extends RequestName = RequestName> = { [K in N]: { readonly name: K; readonly fields: RequestFieldsByName[K] } }[N];

/** WELCOME: The answer to HELLO. */
export interface WelcomeFields {
  /** The version in use from now on: the newest that both sides speak. */
  readonly version: number;
  /** What became of the session: 1 resumed, 2 leases_kept. */
  readonly marks: number;
  /** Id of the cluster. A different id after a reconnect means a different queue. */
  readonly clusterId: Uint8Array;
  /** The session, resumed or new; 0 without one. */
  readonly session: bigint;
  /**
   * Needed to resume the session; zeros without one. Keep it as safe as a password: it gives access to the session's
   * leases.
   */
  readonly secret: Uint8Array;
  /** See heartbeats. */
  readonly heartbeatMs: number;
  /** How long the queue keeps the leases of a lost connection, see how long a lease is the client's own. */
  readonly sessionGraceMs: number;
  /** Largest length field of a request. */
  readonly frameBytesMax: number;
  /** Largest body of a job. */
  readonly bodyBytesMax: number;
  /** Most jobs in one PUSH. */
  readonly pushJobsMax: number;
  /** Most leases in one FINISH, RELEASE, TOUCH or BURY. */
  readonly leasesMax: number;
  /** Most jobs that one RESERVE may ask for. */
  readonly reserveJobsMax: number;
  /** Most unanswered requests on the connection. */
  readonly inFlightMax: number;
  /** For the client's logs. */
  readonly serverName: string;
  /** The nodes of the cluster. */
  readonly members: readonly MemberValue[];
  /** Value of the server's monotonic clock; 0 or absent: not shown. */
  readonly clockMs: bigint;
}

/** PONG: The answer to PING: at some moment after it was sent this node led, and the session was connected to it. */
export interface PongFields {
  /** The server's wall clock, in milliseconds. */
  readonly now: bigint;
  /** The server's monotonic clock; 0 or absent: not shown. */
  readonly clockMs: bigint;
}

/** GOING_AWAY: Unasked, under request id 0: the server is about to close the connection. */
export interface GoingAwayFields {
  /** Why, for a person. */
  readonly message: string;
  /** Why, for the client: 0 unknown, 1 stopping, 2 not_leader, 3 session_taken_over, 4 disconnected. */
  readonly reason: number;
}

/** PUSHED: The outcomes of a PUSH: one per job, in order. */
export interface PushedFields {
  /** One result per job, in order. */
  readonly results: readonly PushResultValue[];
}

/** RESERVED: The jobs of a RESERVE; none when the wait was over first. */
export interface ReservedFields {
  /** The jobs. */
  readonly jobs: readonly DeliveredValue[];
}

/** DELIVER: Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session. */
export interface DeliverFields {
  /** The jobs. */
  readonly jobs: readonly DeliveredValue[];
}

/** LEASED: A page of the leases that the session holds. */
export interface LeasedFields {
  /** What is so: 1 more. */
  readonly marks: number;
  /** The jobs, by id. */
  readonly jobs: readonly DeliveredValue[];
}

/** SETTLED: The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order. */
export interface SettledFields {
  /** One result per lease, in order. */
  readonly results: readonly SettleResultValue[];
}

/** JOB: One job as it stands. */
export interface JobFields extends ShownValue {
  /** When it was pushed. */
  readonly pushedMs: bigint;
  /** When it was first leased. */
  readonly reservedFirstMs: bigint;
  /** When it was last leased. */
  readonly reservedLastMs: bigint;
  /** When it was last edited. */
  readonly editedMs: bigint;
  /**
   * Who got the last lease: the address, the token and the name of the client, as of the start of its session. Empty
   * for none, and where the asking token lacks the right `admin` for all topics.
   */
  readonly heldBy: string;
  /** The last reason given with a RELEASE or BURY. */
  readonly reason: string;
  /** When it was finished. */
  readonly finishedMs: bigint;
  /** Its version; 0 for a finished job that is no longer remembered. */
  readonly version: bigint;
}

/** CHANGED: One job was changed. */
export interface ChangedFields {
  /** Its id. */
  readonly job: bigint;
  /** When it is due. */
  readonly dueMs: bigint;
  /**
   * The state in which it is now; for DELETE, the one in which it was: 0 delayed, 1 ready, 2 reserved, 3 buried, 4
   * finished.
   */
  readonly state: number;
  /** Its version: after the change, and of a deleted job before it. */
  readonly version: bigint;
}

/** KICKED: Jobs were kicked. */
export interface KickedFields {
  /** How many jobs are ready now that were buried. */
  readonly jobs: number;
}

/** JOBS: A page of jobs. */
export interface JobsFields {
  /** Where the next page goes on; empty if there is none. A page may be short, or empty, and have a cursor. */
  readonly cursor: Uint8Array;
  /** The jobs, in the order that was asked for. */
  readonly jobs: readonly ListedValue[];
}

/** COUNTED: How many jobs match. */
export interface CountedFields {
  /** How many. */
  readonly jobs: bigint;
  /** If bars were asked for: the jobs that are due before them, each bar, and the jobs that are due after them. */
  readonly byDue: readonly DueBarValue[];
}

/** BULKED: How many jobs were changed. */
export interface BulkedFields {
  /** How many jobs were changed. */
  readonly jobs: number;
  /** Where the next step goes on; empty if this was the last one. */
  readonly cursor: Uint8Array;
  /**
   * How many met the conditions and were left as they are: their state does not allow the change, or the topic to which
   * they were to go has their key.
   */
  readonly skipped: number;
}

/** TOPIC_COUNTS: Counts by topic. */
export interface TopicCountsFields {
  /** Each topic, by name. */
  readonly topics: readonly TopicCountValue[];
}

/** QUEUE_STATS: Counts of the queue. */
export interface QueueStatsFields {
  /** The server's wall clock, in milliseconds. */
  readonly now: bigint;
  /** How long the server has been up. */
  readonly uptimeMs: bigint;
  /** Open connections. */
  readonly connections: number;
  /** Sessions that the queue knows. */
  readonly sessions: number;
  /** Consumers that wait for jobs. */
  readonly waiting: number;
  /** The last index that was applied. */
  readonly appliedIndex: bigint;
  /** The Raft term. */
  readonly term: bigint;
  /** The hash of the state at that index. */
  readonly stateHash: bigint;
  /** The sums over all topics. */
  readonly totals: TotalsValue;
  /** Each topic, by name. */
  readonly topics: readonly TopicCountValue[];
  /** Where the time of the answering node goes. */
  readonly stages: readonly StageValue[];
}

/** CONNECTION_LIST: Clients' connections. */
export interface ConnectionListFields {
  /** What is so; a page has fewer than asked for if its connections have thousands of subscriptions: 1 more. */
  readonly marks: number;
  /** The connections, by number. */
  readonly connections: readonly ConnectionValue[];
}

/** TOPIC_SETTINGS: A topic's policy. */
export interface TopicSettingsFields {
  /** The topic's jobs that are delayed, ready, reserved or buried. */
  readonly jobs: bigint;
  /** Bytes of their bodies. Jobs that are remembered count for neither, nor for the limits. */
  readonly bytes: bigint;
  /** How long its pause lasts; 0 if it is not paused, or until RESUME. */
  readonly pauseLeftMs: bigint;
  /** What is so: 1 paused, 2 attempts_of_server, 4 backoff_of_server. */
  readonly marks: number;
  /** The settings as in TOPIC_SET, with the server's defaults for retries where the topic does not set them. */
  readonly settings: SettingsChange;
}

/** BACKUP_READY: A backup can be read. */
export interface BackupReadyFields {
  /** The last entry of the log that it contains. */
  readonly index: bigint;
  /** How many jobs are in it. */
  readonly jobs: bigint;
  /** Hash of the state, as in QUEUE_STATS at that index. */
  readonly stateHash: bigint;
  /** How many bytes there are to be read: all of the backup but its footer. */
  readonly bytes: bigint;
}

/** BACKUP_DATA: A part of a backup. */
export interface BackupDataFields {
  /** The bytes at that offset; fewer than were asked for only at the end. */
  readonly data: Uint8Array;
}

/** INSTANTS: When a schedule would fire. */
export interface InstantsFields {
  /** The version and the origin of the zone data, for example `2026f, bundled`. */
  readonly zoneData: string;
  /** The next instants, in order: fewer than were asked for if it fires no more. */
  readonly instants: readonly LocalInstantValue[];
}

/** CLUSTER_REPORT: The members of the cluster, as one node sees them. */
export interface ClusterReportFields {
  /** The node that reports. */
  readonly node: bigint;
  /** As in WELCOME. */
  readonly clusterId: Uint8Array;
  /** The leader, as far as it knows; 0 for none. */
  readonly leader: bigint;
  /** The Raft term, which grows with each election. */
  readonly term: bigint;
  /** The last entry in its log. */
  readonly last: bigint;
  /** The last entry that it knows to be committed. */
  readonly commit: bigint;
  /** What all members support; it rises when all are upgraded. */
  readonly featureLevel: number;
  /** The voters, then the learners. Empty on a node that waits to be added. */
  readonly members: readonly NodeValue[];
}

/** GROUPS: A page of groups. */
export interface GroupsFields {
  /** Where the next page begins; empty on the last one. */
  readonly after: string;
  /** The groups, by name. */
  readonly groups: readonly GroupStateValue[];
}

/** REASONS: Why a job, a topic or a group gives nothing to a consumer. */
export interface ReasonsFields {
  /** The reasons, the most important one first; never empty. */
  readonly reasons: readonly ReasonValue[];
}

/** SCHEDULED: A schedule is set. */
export interface ScheduledFields {
  /** Its id. */
  readonly schedule: bigint;
  /** How often it was set. */
  readonly version: number;
  /** Its next instant; 0 if there is none. */
  readonly nextMs: bigint;
}

/** SCHEDULE: One schedule as it stands. */
export interface ScheduleFields extends ScheduleRulesValue, JobTemplateValue {
  /** Where it stands. */
  readonly state: ScheduleStateValue;
  /** What the user who paused it noted; empty for nothing. */
  readonly pauseNote: string;
  /** What it did of late, the oldest first; at most 20. */
  readonly history: readonly FiringValue[];
}

/** SCHEDULES: A page of schedules. */
export interface SchedulesFields {
  /** The schedules: fewer than were asked for, or none, if a page comes to the limit of what is read for it. */
  readonly schedules: readonly ListedScheduleValue[];
  /** Where the next page goes on; empty on the last one. */
  readonly cursor: Uint8Array;
}

/** SCHEDULE_RAN: A schedule pushed a job. */
export interface ScheduleRanFields {
  /** Its id. */
  readonly job: bigint;
}

/** SCHEDULE_FILLED: A part of a time that has passed is filled, or counted. */
export interface ScheduleFilledFields {
  /** From when the next part goes on; 0 if this was the last one. */
  readonly nextMs: bigint;
  /**
   * Bytes of the bodies of the jobs of this part, also of those that were not pushed: like a push, it counts for the
   * rates of the token; 0 after a dry run.
   */
  readonly bytes: bigint;
  /** Instants of the schedule in this part. */
  readonly instants: number;
  /** Jobs that were pushed. */
  readonly pushed: number;
  /** Instants whose job is in the topic already, by its key. */
  readonly kept: number;
  /** Jobs that the topic's policy, or a limit of the queue, does not allow. */
  readonly refused: number;
}

/** ERROR: The request failed as a whole. */
export interface ErrorFields {
  /** Why: an error code. */
  readonly code: number;
  /** What is so: 1 retryable. */
  readonly marks: number;
  /** Its known effect. Read any other number as 1: 0 no, 1 unknown. */
  readonly applied: number;
  /** Do not try again before this time, whatever the code; the mark *retryable* is then set. 0: no hint. */
  readonly retryAfterMs: number;
  /** The client address of the leader, for `NOT_LEADER`; empty if unknown. */
  readonly leader: string;
  /** One sentence for a person. It may change between versions: decide by the code. */
  readonly message: string;
}

/** The opcode of each response. */
export const RESPONSES = {
  /** The answer to HELLO. */
  WELCOME: 0x81,
  /** The answer to PING: at some moment after it was sent this node led, and the session was connected to it. */
  PONG: 0x82,
  /** It is done. */
  DONE: 0x83,
  /** Unasked, under request id 0: the server is about to close the connection. */
  GOING_AWAY: 0x84,
  /** The outcomes of a PUSH: one per job, in order. */
  PUSHED: 0x90,
  /** The jobs of a RESERVE; none when the wait was over first. */
  RESERVED: 0xa0,
  /** The answer to SUBSCRIBE. Jobs follow as DELIVER. */
  SUBSCRIBED: 0xa1,
  /** Unasked, under the request id of the SUBSCRIBE: jobs that are now leased to this session. */
  DELIVER: 0xa2,
  /** A page of the leases that the session holds. */
  LEASED: 0xa3,
  /** The outcomes of FINISH, RELEASE, TOUCH and BURY: one per lease, in order. */
  SETTLED: 0xb0,
  /** One job as it stands. */
  JOB: 0xc0,
  /** One job was changed. */
  CHANGED: 0xc1,
  /** Jobs were kicked. */
  KICKED: 0xc2,
  /** A page of jobs. */
  JOBS: 0xc3,
  /** How many jobs match. */
  COUNTED: 0xc4,
  /** How many jobs were changed. */
  BULKED: 0xc5,
  /** Counts by topic. */
  TOPIC_COUNTS: 0xd0,
  /** Counts of the queue. */
  QUEUE_STATS: 0xd1,
  /** Clients' connections. */
  CONNECTION_LIST: 0xd2,
  /** A topic's policy. */
  TOPIC_SETTINGS: 0xd3,
  /** A backup can be read. */
  BACKUP_READY: 0xe0,
  /** A part of a backup. */
  BACKUP_DATA: 0xe1,
  /** When a schedule would fire. */
  INSTANTS: 0xef,
  /** The members of the cluster, as one node sees them. */
  CLUSTER_REPORT: 0xf0,
  /** A page of groups. */
  GROUPS: 0xf5,
  /** Why a job, a topic or a group gives nothing to a consumer. */
  REASONS: 0xf6,
  /** A schedule is set. */
  SCHEDULED: 0xf8,
  /** One schedule as it stands. */
  SCHEDULE: 0xf9,
  /** A page of schedules. */
  SCHEDULES: 0xfa,
  /** A schedule pushed a job. */
  SCHEDULE_RAN: 0xfb,
  /** A part of a time that has passed is filled, or counted. */
  SCHEDULE_FILLED: 0xfc,
  /** The request failed as a whole. */
  ERROR: 0xff,
} as const;

export interface ResponseFieldsByName {
  readonly WELCOME: WelcomeFields;
  readonly PONG: PongFields;
  readonly DONE: NoFields;
  readonly GOING_AWAY: GoingAwayFields;
  readonly PUSHED: PushedFields;
  readonly RESERVED: ReservedFields;
  readonly SUBSCRIBED: NoFields;
  readonly DELIVER: DeliverFields;
  readonly LEASED: LeasedFields;
  readonly SETTLED: SettledFields;
  readonly JOB: JobFields;
  readonly CHANGED: ChangedFields;
  readonly KICKED: KickedFields;
  readonly JOBS: JobsFields;
  readonly COUNTED: CountedFields;
  readonly BULKED: BulkedFields;
  readonly TOPIC_COUNTS: TopicCountsFields;
  readonly QUEUE_STATS: QueueStatsFields;
  readonly CONNECTION_LIST: ConnectionListFields;
  readonly TOPIC_SETTINGS: TopicSettingsFields;
  readonly BACKUP_READY: BackupReadyFields;
  readonly BACKUP_DATA: BackupDataFields;
  readonly INSTANTS: InstantsFields;
  readonly CLUSTER_REPORT: ClusterReportFields;
  readonly GROUPS: GroupsFields;
  readonly REASONS: ReasonsFields;
  readonly SCHEDULED: ScheduledFields;
  readonly SCHEDULE: ScheduleFields;
  readonly SCHEDULES: SchedulesFields;
  readonly SCHEDULE_RAN: ScheduleRanFields;
  readonly SCHEDULE_FILLED: ScheduleFilledFields;
  readonly ERROR: ErrorFields;
}

export type ResponseName = keyof ResponseFieldsByName;
export type ResponseFields<N extends ResponseName> = ResponseFieldsByName[N];

/** A response with its fields. */
export type Response<N extends ResponseName = ResponseName> = { [K in N]: { readonly name: K; readonly fields: ResponseFieldsByName[K] } }[N];

/** Requests that may be sent again when nobody knows whether the server got them. */
export const REPEATABLE: ReadonlySet<RequestName> = new Set([
  'PING',
  'GOODBYE',
  'PUSH',
  'RESERVE',
  'SUBSCRIBE',
  'LEASES',
  'FINISH',
  'RELEASE',
  'TOUCH',
  'BURY',
  'GET',
  'PEEK',
  'LIST',
  'COUNT',
  'PAUSE',
  'RESUME',
  'TOPICS',
  'STATS',
  'CONNECTIONS',
  'TOPIC_SET',
  'TOPIC_SHOW',
  'SCHEDULE_PREVIEW',
  'CLUSTER_STATUS',
  'GROUP_SET',
  'GROUP_LIST',
  'WHY',
  'TOPIC_WHY',
  'SCHEDULE_SHOW',
  'SCHEDULE_LIST',
  'SCHEDULE_PAUSE',
  'SCHEDULE_RESUME',
]);

/** Requests that may be sent again only if they name a job by its id. */
export const REPEATABLE_BY_ID: ReadonlySet<RequestName> = new Set([
  'DELETE',
]);

/** Responses that prove that the session was connected to the leader after their request was sent. */
export const PROOFS: ReadonlySet<ResponseName> = new Set([
  'PONG',
  'PUSHED',
  'RESERVED',
  'DELIVER',
  'LEASED',
  'SETTLED',
  'JOB',
  'CHANGED',
  'KICKED',
  'TOPIC_COUNTS',
  'QUEUE_STATS',
  'CONNECTION_LIST',
  'INSTANTS',
  'GROUPS',
  'REASONS',
  'SCHEDULED',
  'SCHEDULE',
  'SCHEDULES',
  'SCHEDULE_RAN',
  'SCHEDULE_FILLED',
]);
