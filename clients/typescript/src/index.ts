/**
 * Client of Adjourn, a persistent, replicated delay queue.
 *
 * `connect` opens a session; `Client` has a call for every request of the protocol; `Worker` runs a handler for each job.
 */

export { connect } from './client.js';
export type { Client, ClientHealth, PushOptions, PushResult, ReserveOptions, SettleResult, SubscribeOptions } from './client.js';
export type { Backup } from './backup.js';
export type { ClusterCalls } from './cluster-calls.js';
export type { BulkChange, BulkOptions, BulkStep, Changed, Due, DueBar, DueBars, EditOptions, ListOptions, OperatorCalls, PauseOptions, RescheduleOptions } from './operator-calls.js';
export type { CallOptions } from './engine/interfaces.js';
export { Worker, RetryLater, BuryJob } from './worker.js';
export type { Handler, HandlerContext, Middleware, StopResult, WorkerHealth, WorkerOptions } from './worker.js';
export { ThreadPool, type ThreadContext, type ThreadHandler, type ThreadJob, type ThreadPoolOptions } from './thread-pool.js';
export type { Subscription } from './subscription.js';
export type { Job, BuryReason, JobInfo, JobRef, JobState, Lease, ReleaseHow, Unknown } from './job.js';
export type { IfExists, JobOptions, NamedHeaders, NewJob } from './new-job.js';
export type { JobBackoff } from './backoff.js';
export type { JobEdit } from './edit.js';
export type { JobFilter } from './filter.js';
export type { GroupChange, GroupInfo, GroupsOptions, HoldReason, Why, WhyTopicOptions } from './groups.js';
export type {
  FillTime,
  FilledPart,
  Fired,
  Firing,
  JobTemplate,
  ListedSchedule,
  LocalInstant,
  PauseScheduleOptions,
  PreviewOptions,
  Schedule,
  ScheduleDst,
  ScheduleInfo,
  ScheduleMissed,
  ScheduleOverlap,
  SchedulePaused,
  SchedulePreview,
  ScheduleRules,
  Scheduled,
  SchedulesOptions,
  SetScheduleOptions,
  ShownRules,
  ShownTemplate,
} from './schedule.js';
export type { Late, TopicPolicy, TopicPolicyChange } from './topic-policy.js';
export type { ClusterMember, ClusterStatus, ConnectionInfo, QueueStats, Stage, TopicCounts, TopicSettings, Totals } from './reports.js';
export type { ConnectOptions, LogEntry } from './options.js';
export type { Address, Dialer, TlsOptions, Transport, TransportEvents } from './transport.js';
export { systemClock, type Clock } from './clock.js';
export type { Tracing } from './tracing.js';
export type { Instant } from './time.js';
export { BodyError } from './body.js';
export * from './errors.js';
export * from './refusals.js';
export * from './server-errors.js';
