/** What the queue tells of itself. Numbers that the protocol carries in 64 bits are `bigint`. */

import type { Unknown } from './job.js';
import { CONNECTION_MARKS, NODE_MARKS, ROLE_NAMES, SETTINGS_MARKS, TOPIC_MARKS } from './protocol/choices.js';
import type { ResponseFields, StageValue, TotalsValue } from './protocol/messages.js';
import { topicPolicy, type TopicPolicy } from './topic-policy.js';

/** Jobs in a state now, and jobs so far. */
export interface Totals extends TotalsValue {}

export interface TopicCounts extends Totals {
  readonly topic: string;
  readonly isPaused: boolean;
  /** How many long polls and subscriptions want its jobs, on any member that the leader serves. */
  readonly consumers: number;
  /** How many milliseconds late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered. */
  readonly lateMs: bigint;
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

/** At most 1 % too high, 0 if there are none. Stages are wait, commit, apply and lateness; a newer server may have others. */
export interface Stage extends StageValue {}

export interface TopicSettings {
  readonly policy: TopicPolicy;
  /** What of the policy is the server's default, and not set here. */
  readonly ofServer: readonly ('attemptsMax' | 'backoff')[];
  readonly isPaused: boolean;
  /** How many milliseconds the pause lasts; `null` if there is none, or if it does not end by itself. */
  readonly pauseLeftMs: bigint | null;
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
  readonly role: (typeof ROLE_NAMES)[number] | Unknown;
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
  return { ...counts, isPaused: (marks & TOPIC_MARKS.paused) !== 0 };
}

export function queueStats(stats: ResponseFields<'QUEUE_STATS'>): QueueStats {
  const { now, totals, topics, ...same } = stats;
  return { ...same, ...totals, now: new Date(Number(now)), topics: topics.map(topicCounts) };
}

export function topicSettings({ jobs, bytes, pauseLeftMs, marks, settings }: ResponseFields<'TOPIC_SETTINGS'>): TopicSettings {
  const ofServer: TopicSettings['ofServer'][number][] = [];
  if (marks & SETTINGS_MARKS.attemptsOfServer) ofServer.push('attemptsMax');
  if (marks & SETTINGS_MARKS.backoffOfServer) ofServer.push('backoff');
  const isPaused = (marks & SETTINGS_MARKS.paused) !== 0;
  return { policy: topicPolicy(settings), ofServer, isPaused, pauseLeftMs: pauseLeftMs === 0n ? null : pauseLeftMs, jobs, bytes };
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
    hasMoreTopics: (report.marks & CONNECTION_MARKS.moreTopics) !== 0,
  };
}

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
      const is = (mark: keyof typeof NODE_MARKS) => (member.marks & NODE_MARKS[mark]) !== 0;
      return {
        node: member.node,
        role: ROLE_NAMES[member.role] ?? 'unknown',
        isConnected: is('connected'),
        matched: is('matched') ? member.matched : null,
        applied: is('applied') ? member.applied : null,
        aheadMs: is('ahead') ? member.aheadMs : null,
        audited: member.audited,
        hasSameState: is('compared') ? is('sameState') : null,
        peerAddress: member.peerAddress,
        clientAddress: member.clientAddress,
      };
    }),
  };
}
