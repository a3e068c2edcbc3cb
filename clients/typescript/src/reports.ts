/** What the queue tells of itself. */

import type { Unknown } from './job.js';
import type { ResponseFields } from './protocol/messages.js';
import { topicPolicy, type TopicPolicy } from './topic-policy.js';

export interface Totals {
  /** Jobs in that state now. */
  readonly delayed: number;
  readonly ready: number;
  readonly reserved: number;
  readonly buried: number;
  /** Jobs so far. */
  readonly pushed: number;
  readonly finished: number;
  readonly deleted: number;
  readonly expired: number;
  /** Time since the oldest ready job was due. */
  readonly oldestReadyMs: number;
}

export interface TopicCounts extends Totals {
  readonly topic: string;
  readonly isPaused: boolean;
}

export interface QueueStats extends Totals {
  readonly now: Date;
  readonly uptimeMs: number;
  readonly connections: number;
  readonly sessions: number;
  readonly waiting: number;
  readonly appliedIndex: bigint;
  readonly term: bigint;
  readonly stateHash: bigint;
  readonly topics: readonly TopicCounts[];
}

export interface TopicSettings {
  readonly policy: TopicPolicy;
  readonly isPaused: boolean;
  readonly jobs: number;
  readonly bytes: number;
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
  readonly unsentBytes: number;
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
  readonly aheadMs: number | null;
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

function totals(of: Omit<Counts, 'marks' | 'topic'>): Totals {
  return {
    delayed: Number(of.delayed),
    ready: Number(of.ready),
    reserved: Number(of.reserved),
    buried: Number(of.buried),
    pushed: Number(of.pushed),
    finished: Number(of.finished),
    deleted: Number(of.deleted),
    expired: Number(of.expired),
    oldestReadyMs: Number(of.oldestReadyMs),
  };
}

export function topicCounts(counts: Counts): TopicCounts {
  return { topic: counts.topic, isPaused: (counts.marks & 1) !== 0, ...totals(counts) };
}

export function queueStats(stats: ResponseFields<'QUEUE_STATS'>): QueueStats {
  const { connections, sessions, waiting, appliedIndex, term, stateHash } = stats;
  return {
    now: new Date(Number(stats.now)),
    uptimeMs: Number(stats.uptimeMs),
    connections,
    sessions,
    waiting,
    appliedIndex,
    term,
    stateHash,
    ...totals(stats.totals),
    topics: stats.topics.map(topicCounts),
  };
}

export function topicSettings({ jobs, bytes, marks, settings }: ResponseFields<'TOPIC_SETTINGS'>): TopicSettings {
  return { policy: topicPolicy(settings), isPaused: (marks & 1) !== 0, jobs: Number(jobs), bytes: Number(bytes) };
}

export function connectionInfo(report: ResponseFields<'CONNECTION_LIST'>['connections'][number]): ConnectionInfo {
  const { connection, leases, subscriptions, reserves, creditJobs, creditBytes, address, clientName, topics } = report;
  return {
    connection,
    session: report.session || null,
    since: new Date(Number(report.sinceMs)),
    leases,
    subscriptions,
    reserves,
    creditJobs,
    creditBytes,
    unsentBytes: Number(report.unsentBytes),
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
        aheadMs: known(3) ? Number(member.aheadMs) : null,
        audited: member.audited,
        hasSameState: known(4) ? known(5) : null,
        peerAddress: member.peerAddress,
        clientAddress: member.clientAddress,
      };
    }),
  };
}
