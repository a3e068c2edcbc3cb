/** What the queue tells of itself. Numbers that the protocol carries in 64 bits are `bigint`. */

import type { Unknown } from './job.js';
import type { ResponseFields } from './protocol/messages.js';
import { topicPolicy, type TopicPolicy } from './topic-policy.js';

export interface Totals {
  /** Jobs in that state now. */
  readonly delayed: bigint;
  readonly ready: bigint;
  readonly reserved: bigint;
  readonly buried: bigint;
  /** Jobs so far. */
  readonly pushed: bigint;
  readonly finished: bigint;
  readonly deleted: bigint;
  readonly expired: bigint;
  /** Time since the oldest ready job was due. */
  readonly oldestReadyMs: bigint;
}

export interface TopicCounts extends Totals {
  readonly topic: string;
  readonly isPaused: boolean;
}

export interface QueueStats extends Totals {
  readonly now: Date;
  readonly uptimeMs: bigint;
  readonly connections: number;
  readonly sessions: number;
  readonly waiting: number;
  readonly appliedIndex: bigint;
  readonly term: bigint;
  readonly stateHash: bigint;
  readonly topics: readonly TopicCounts[];
  /** Where the time of the answering node goes; none from a server that does not know them. */
  readonly stages: readonly Stage[];
}

/** The durations of one stage of the work on a node: over its last one to two minutes, at most 1 % too high, 0 if there are none. */
export interface Stage {
  /** wait, commit, apply, lateness. A newer server may have others. */
  readonly stage: string;
  readonly count: bigint;
  /** Percentiles and the longest, in microseconds. */
  readonly p50Us: bigint;
  readonly p99Us: bigint;
  readonly p999Us: bigint;
  readonly maxUs: bigint;
}

export interface TopicSettings {
  readonly policy: TopicPolicy;
  readonly isPaused: boolean;
  readonly jobs: bigint;
  readonly bytes: bigint;
}

export interface ConnectionInfo {
  readonly connection: bigint;
  readonly session: bigint | null;
  readonly since: Date;
  readonly leases: number;
  readonly subscriptions: number;
  readonly reserves: number;
  readonly creditJobs: bigint;
  readonly creditBytes: bigint;
  readonly unsentBytes: bigint;
  readonly address: string;
  readonly clientName: string;
  readonly topics: readonly string[];
  readonly hasMoreTopics: boolean;
}

export interface ClusterMember {
  readonly node: bigint;
  readonly role: 'learner' | 'voter' | 'leader' | Unknown;
  readonly isConnected: boolean;
  readonly matched: bigint | null;
  readonly applied: bigint | null;
  readonly aheadMs: bigint | null;
  readonly audited: bigint;
  readonly hasSameState: boolean | null;
  readonly peerAddress: string;
  readonly clientAddress: string;
}

export interface ClusterStatus {
  readonly node: bigint;
  /** In hex. */
  readonly clusterId: string;
  readonly leader: bigint | null;
  readonly term: bigint;
  readonly last: bigint;
  readonly commit: bigint;
  readonly featureLevel: number;
  readonly members: readonly ClusterMember[];
}

type Counts = ResponseFields<'TOPIC_COUNTS'>['topics'][number];

export function topicCounts({ marks, ...counts }: Counts): TopicCounts {
  return { ...counts, isPaused: (marks & 1) !== 0 };
}

export function queueStats(stats: ResponseFields<'QUEUE_STATS'>): QueueStats {
  const { now, totals, topics, ...same } = stats;
  return { ...same, ...totals, now: new Date(Number(now)), topics: topics.map(topicCounts) };
}

export function topicSettings({ jobs, bytes, marks, settings }: ResponseFields<'TOPIC_SETTINGS'>): TopicSettings {
  return { policy: topicPolicy(settings), isPaused: (marks & 1) !== 0, jobs, bytes };
}

export function connectionInfo(report: ResponseFields<'CONNECTION_LIST'>['connections'][number]): ConnectionInfo {
  const { connection, leases, subscriptions, reserves, creditJobs, creditBytes, unsentBytes, address, clientName, topics } = report;
  return {
    connection,
    session: report.session || null,
    since: new Date(Number(report.sinceMs)),
    leases,
    subscriptions,
    reserves,
    creditJobs,
    creditBytes,
    unsentBytes,
    address,
    clientName,
    topics,
    hasMoreTopics: (report.marks & 1) !== 0,
  };
}

const ROLES = ['learner', 'voter', 'leader'] as const;

export function clusterStatus(report: ResponseFields<'CLUSTER_REPORT'>): ClusterStatus {
  const { node, term, last, commit, featureLevel } = report;
  return {
    node,
    clusterId: [...report.clusterId].map((byte) => byte.toString(16).padStart(2, '0')).join(''),
    leader: report.leader || null,
    term,
    last,
    commit,
    featureLevel,
    members: report.members.map((member) => {
      const known = (bit: number) => (member.marks & (1 << bit)) !== 0;
      return {
        node: member.node,
        role: ROLES[member.role] ?? 'unknown',
        isConnected: known(0),
        matched: known(1) ? member.matched : null,
        applied: known(2) ? member.applied : null,
        aheadMs: known(3) ? member.aheadMs : null,
        audited: member.audited,
        hasSameState: known(4) ? known(5) : null,
        peerAddress: member.peerAddress,
        clientAddress: member.clientAddress,
      };
    }),
  };
}
