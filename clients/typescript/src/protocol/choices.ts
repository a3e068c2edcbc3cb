// Generated from the schema by `make generate`. Do not edit.

/** Numbers that stand for one of some choices, by their names and in their order, and bits by their names. */

/** How a due time counts. */
export const DUE_KIND = {
  /** Milliseconds after the queue accepts the request. */
  after: 0,
  /** On the wall clock. */
  at: 1,
} as const;
/** The names of `DUE_KIND`, each at the place of its number. */
export const DUE_KIND_NAMES = ['after', 'at'] as const;

/** What happens if the topic has a job with the key. */
export const IF_EXISTS = {
  /** The push of this job is refused. */
  reject: 0,
  /** The job that is there stays; its id is the answer. */
  keep: 1,
  /** The new job takes its place, unless it is reserved. */
  replace: 2,
  /** The new job takes its place, even if it is reserved. */
  replace_any: 3,
  /** The job that is there waits for the new due time. */
  postpone: 4,
} as const;
/** The names of `IF_EXISTS`, each at the place of its number. */
export const IF_EXISTS_NAMES = ['reject', 'keep', 'replace', 'replace_any', 'postpone'] as const;

/** How far the clock of a server for tests moves. */
export const STEP = {
  /** By a duration. */
  by: 0,
  /** To the time at which the next delayed job is due, of all topics. */
  to_next: 1,
} as const;
/** The names of `STEP`, each at the place of its number. */
export const STEP_NAMES = ['by', 'to_next'] as const;

/** How a job reference names a job. */
export const JOB_KIND = {
  /** By its id. */
  id: 0,
  /** By its topic and key. */
  key: 1,
} as const;
/** The names of `JOB_KIND`, each at the place of its number. */
export const JOB_KIND_NAMES = ['id', 'key'] as const;

/** In which order jobs are listed. */
export const ORDER = {
  /** By due time, then id. */
  due: 0,
  /** By id, which is the order in which they were pushed. */
  id: 1,
  /** By key, then id, without the jobs that have no key. */
  key: 2,
} as const;
/** The names of `ORDER`, each at the place of its number. */
export const ORDER_NAMES = ['due', 'id', 'key'] as const;

/** What a bulk change does to each job. */
export const CHANGE = {
  /** Removes it. */
  delete: 0,
  /** Makes it ready if it is buried. */
  kick: 1,
  /** Makes it ready if it is delayed. */
  run_now: 2,
  /** Gives it a new due time. */
  reschedule: 3,
  /** Moves it to another topic. */
  move: 4,
} as const;
/** The names of `CHANGE`, each at the place of its number. */
export const CHANGE_NAMES = ['delete', 'kick', 'run_now', 'reschedule', 'move'] as const;

/**
 * What became of a pushed job. Any other number: read it as 3 with `OUTCOME_UNKNOWN`: for this job only, report
 * "outcome unknown"; `job` is the one to look at with GET, or 0.
 */
export const OUTCOME = {
  /** It is in the queue, and durable; `job` is its id. */
  pushed: 0,
  /** A job with this key exists; `job` is the id of that one. */
  kept: 1,
  /** It took the place of the job with its key; `job` is its own, new id. */
  replaced: 2,
  /** `code` is an error code; `job` is the existing job for `KEY_EXISTS` and `RESERVED`, else 0. */
  refused: 3,
  /** The job with its key waits for the new due time; `job` is the id of that one. */
  postponed: 4,
} as const;
/** The names of `OUTCOME`, each at the place of its number. */
export const OUTCOME_NAMES = ['pushed', 'kept', 'replaced', 'refused', 'postponed'] as const;

/** Where a job stands. Any other number: a state that only a newer server knows. */
export const STATE = {
  /** Its due time lies ahead. */
  delayed: 0,
  /** It waits for a consumer. */
  ready: 1,
  /** A consumer holds it under a lease. */
  reserved: 2,
  /** It is set aside until somebody kicks it. */
  buried: 3,
  /** It was finished, and is still remembered. */
  finished: 4,
} as const;
/** The names of `STATE`, each at the place of its number. */
export const STATE_NAMES = ['delayed', 'ready', 'reserved', 'buried', 'finished'] as const;

/** Why a job is buried. Any other number: a reason that only a newer server knows. */
export const BURIED = {
  /** The job is not buried. */
  not_buried: 0,
  /** A consumer buried it, or its push. */
  consumer: 1,
  /** Its attempts are used up. */
  attempts_used_up: 2,
  /** It was too late. */
  too_late: 3,
} as const;
/** The names of `BURIED`, each at the place of its number. */
export const BURIED_NAMES = ['not_buried', 'consumer', 'attempts_used_up', 'too_late'] as const;

/** What a schedule does when the clocks of its zone are changed. */
export const DST = {
  /** As cron: a time that is skipped fires at once after the gap, a repeated one fires once. */
  vixie: 0,
  /** A time that is skipped does not fire, a repeated one fires twice. */
  literal: 1,
} as const;
/** The names of `DST`, each at the place of its number. */
export const DST_NAMES = ['vixie', 'literal'] as const;

/** Which of the instants that passed unnoticed are fired late. */
export const MISSED = {
  /** The last one. */
  last: 0,
  /** None of them. */
  none: 1,
  /** All of them, up to a number. */
  all: 2,
} as const;
/** The names of `MISSED`, each at the place of its number. */
export const MISSED_NAMES = ['last', 'none', 'all'] as const;

/** What a schedule does at an instant while an earlier job of it has not ended. */
export const OVERLAP = {
  /** Pushes no job. */
  skip: 0,
  /** Pushes another job. */
  allow: 1,
  /** Pushes the job as soon as the earlier one has ended; further instants until then are skipped. */
  queue_one: 2,
  /** Deletes the earlier job, also a reserved one, and pushes another. */
  replace: 3,
} as const;
/** The names of `OVERLAP`, each at the place of its number. */
export const OVERLAP_NAMES = ['skip', 'allow', 'queue_one', 'replace'] as const;

/** Why a schedule does not fire at present. Any other number: a reason that only a newer server knows. */
export const PAUSED = {
  /** It fires. */
  not_paused: 0,
  /** A user paused it. */
  user: 1,
  /** Too many of its jobs failed one after another. */
  failures: 2,
} as const;
/** The names of `PAUSED`, each at the place of its number. */
export const PAUSED_NAMES = ['not_paused', 'user', 'failures'] as const;

/** Which schedules, by whether they are paused. */
export const WHICH_PAUSED = {
  /** All. */
  any: 0,
  /** Those that are paused. */
  paused: 1,
  /** Those that are not. */
  active: 2,
} as const;
/** The names of `WHICH_PAUSED`, each at the place of its number. */
export const WHICH_PAUSED_NAMES = ['any', 'paused', 'active'] as const;

/** Whether something is paused or resumed. */
export const PAUSE = {
  /** It stays as it is. */
  keep: 0,
  /** It is paused. */
  pause: 1,
  /** It is resumed. */
  resume: 2,
} as const;
/** The names of `PAUSE`, each at the place of its number. */
export const PAUSE_NAMES = ['keep', 'pause', 'resume'] as const;

/**
 * Why a job, a topic or a group gives nothing to a consumer now. Any other number: a reason that only a newer server
 * knows.
 */
export const WHY = {
  /** Nothing holds it back. */
  next: 0,
  /** Its due time has not come. */
  delayed: 1,
  /** The topic is paused. */
  topic_paused: 2,
  /** The topic has as many leases as it may. */
  topic_leases: 3,
  /** The topic has used up its rate. */
  topic_rate: 4,
  /** Its group is paused. */
  group_paused: 5,
  /** Its group has as many leases as it may. */
  group_leases: 6,
  /** Its group has used up its rate. */
  group_rate: 7,
  /** A job of its group is reserved, and they go one at a time. */
  group_reserved: 8,
  /** A job of its group waits for its next attempt, and they go one at a time. */
  group_retry: 9,
  /** A job of its group is buried, and they go one at a time. */
  group_buried: 10,
  /** Jobs of its topic, or of its group, come first. */
  behind: 11,
  /** No consumer waits on the topic. */
  no_consumer: 12,
  /** The calls of the topic are paused. */
  call_back_paused: 13,
  /** A consumer has it. */
  reserved: 14,
  /** It is buried. */
  buried: 15,
  /** It is finished, and remembered. */
  finished: 16,
  /** No job is ready. */
  empty: 17,
  /** The destination of the topic's calls failed: calls are suspended. */
  call_back_suspended: 18,
} as const;
/** The names of `WHY`, each at the place of its number. */
export const WHY_NAMES = ['next', 'delayed', 'topic_paused', 'topic_leases', 'topic_rate', 'group_paused', 'group_leases', 'group_rate', 'group_reserved', 'group_retry', 'group_buried', 'behind', 'no_consumer', 'call_back_paused', 'reserved', 'buried', 'finished', 'empty', 'call_back_suspended'] as const;

/** What became of an instant of a schedule. Any other number: something that only a newer server knows. */
export const FIRED = {
  /** It pushed the job, which has not ended. */
  pushed: 0,
  /** It pushed the job, and a consumer finished that. */
  finished: 1,
  /** It pushed the job, and that was buried, or moved to the dead letters. */
  failed: 2,
  /** It pushed the job, and that was deleted or replaced. */
  deleted: 3,
  /** It pushed the job, and that expired, or was dropped because it was late. */
  expired: 4,
  /** It was skipped: it had passed when the schedule was looked at. */
  missed: 5,
  /** It was skipped: an earlier job had not ended. */
  overlap: 6,
  /** It was skipped: the topic's policy, or a limit of the queue, did not allow the job. */
  refused: 7,
  /** It was skipped: the topic has a job with the key, which may be buried or remembered. */
  key_taken: 8,
} as const;
/** The names of `FIRED`, each at the place of its number. */
export const FIRED_NAMES = ['pushed', 'finished', 'failed', 'deleted', 'expired', 'missed', 'overlap', 'refused', 'key_taken'] as const;

/** Why a server closes a connection. Any other number: not said. */
export const GOING_AWAY = {
  /** Not said. */
  unknown: 0,
  /** The server stops; new requests are answered with `STOPPING`. */
  stopping: 1,
  /** This node no longer leads. */
  not_leader: 2,
  /** Another connection took the session over. */
  session_taken_over: 3,
  /** An operator closed the connection. */
  disconnected: 4,
} as const;
/** The names of `GOING_AWAY`, each at the place of its number. */
export const GOING_AWAY_NAMES = ['unknown', 'stopping', 'not_leader', 'session_taken_over', 'disconnected'] as const;

/** The known effect of a request that failed. Any other number: as 1. */
export const APPLIED = {
  /** Nothing was changed. */
  no: 0,
  /** It may have been applied, or may still be. */
  unknown: 1,
} as const;
/** The names of `APPLIED`, each at the place of its number. */
export const APPLIED_NAMES = ['no', 'unknown'] as const;

/** What a member of the cluster is. Any other number: a role that only a newer server knows. */
export const ROLE = {
  /** It receives the log and does not vote. */
  learner: 0,
  /** It votes, and its disk counts. */
  voter: 1,
  /** A voter that leads. */
  leader: 2,
} as const;
/** The names of `ROLE`, each at the place of its number. */
export const ROLE_NAMES = ['learner', 'voter', 'leader'] as const;

/** How the wait grows with the attempts. Any other number: a backoff that only a newer server knows: skip it. */
export const BACKOFF_KIND = {
  /** One wait, always the same. */
  fixed: 0,
  /** Step, maximum: a step more after each attempt. */
  linear: 1,
  /** First, maximum: twice as long after each attempt. */
  exponential: 2,
  /** 1 to 32 waits, one after the other; the last one repeats. */
  list: 3,
} as const;
/** The names of `BACKOFF_KIND`, each at the place of its number. */
export const BACKOFF_KIND_NAMES = ['fixed', 'linear', 'exponential', 'list'] as const;

/** What happens to a late job. Any other number: an action that only a newer server knows: skip the setting. */
export const LATE_ACTION = {
  /** Late jobs come due no faster than this many per second. */
  rate: 0,
  /** It becomes due anew within this many milliseconds. */
  spread: 1,
  /** It is buried; the value is 0. */
  bury: 2,
  /** It is dropped, and counted as expired; the value is 0. */
  drop: 3,
} as const;
/** The names of `LATE_ACTION`, each at the place of its number. */
export const LATE_ACTION_NAMES = ['rate', 'spread', 'bury', 'drop'] as const;

/** What a client wants of its connection. */
export const HELLO_OPTIONS = {
  /**
   * Leases run to their deadline whatever happens to the session, see sessions. It takes effect only when a session is
   * opened; a resumed session keeps what it was opened with.
   */
  leasesOutlive: 1,
  /** None is opened if `session` is 0, see connections without a session. */
  noSession: 2,
} as const;

/** What became of the session. */
export const WELCOME_MARKS = {
  /** The session was resumed. */
  resumed: 1,
  /** Its leases were kept. */
  leasesKept: 2,
} as const;

/** What is so of a member. */
export const MEMBER_MARKS = {
  /** It leads. */
  leads: 1,
} as const;

/** What is so of a page. */
export const PAGE_MARKS = {
  /** There are more. */
  more: 1,
} as const;

/** What a list shows. */
export const LIST_MARKS = {
  /** Show bodies. */
  bodies: 1,
} as const;

/** The parts of a job that an EDIT changes. */
export const EDITED = {
  /** When it is due. */
  due: 1,
  /** Its priority. */
  priority: 2,
  /** How long a lease lasts. */
  ttr: 4,
  /** Its body, and with it the header `content-type`. */
  body: 8,
  /** Its other headers, and `content-type` if it is given. */
  headers: 16,
  /** When it expires. */
  expires: 32,
  /** How many attempts it has. */
  attemptsMax: 64,
  /** The wait between attempts. */
  backoff: 128,
  /** How long it is remembered. */
  dedupeRetention: 256,
  /** The group that it belongs to. */
  group: 512,
} as const;

/** What is so of a schedule. */
export const SCHEDULE_MARKS = {
  /** Its next instant has come, and is about to be fired. */
  come: 1,
  /** Its next instant has come, and waits until an earlier job has ended. */
  held: 2,
} as const;

/** What is so of a topic. */
export const TOPIC_MARKS = {
  /** Reserving is stopped. */
  paused: 1,
} as const;

/** What is so of a topic, and where its settings come from. */
export const SETTINGS_MARKS = {
  /** Reserving is stopped. */
  paused: 1,
  /** *attempts* is the server's default, and not set here. */
  attemptsOfServer: 2,
  /** The same of *backoff*. */
  backoffOfServer: 4,
} as const;

/** What is so of a connection. */
export const CONNECTION_MARKS = {
  /** It waits for more topics than are listed. */
  moreTopics: 1,
} as const;

/** What else a DISCONNECT does. */
export const DISCONNECT_OPTIONS = {
  /** Also end its session. */
  endsSession: 1,
} as const;

/** What is so of a member, and what is known of it. */
export const NODE_MARKS = {
  /** The reporting node is connected to it, or is it. */
  connected: 1,
  /** *matched* is known. */
  matched: 2,
  /** *applied* is known. */
  applied: 4,
  /** *ahead_ms* is known. */
  ahead: 8,
  /** The comparison of states is known. */
  compared: 16,
  /** The states are the same. */
  sameState: 32,
} as const;

/** What is so of an error. */
export const ERROR_MARKS = {
  /** The same request may succeed later, as it is. */
  retryable: 1,
} as const;

/** A set of states of jobs. */
export const STATES = {
  /** Delayed. */
  delayed: 1,
  /** Ready. */
  ready: 2,
  /** Reserved. */
  reserved: 4,
  /** Buried. */
  buried: 8,
  /** Finished and remembered. */
  finished: 16,
} as const;
