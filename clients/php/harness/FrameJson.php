<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Protocol\AttributesCodec;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\FilterCodec;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\SettingsCodec;
use Adjourn\Protocol\Tagged;
use Adjourn\U64;
use function in_array;

/**
 * Frames and elements as the conformance suite writes them, in JSON. Numbers that are wider than 32 bits are decimal strings, and
 * bytes are base64.
 */
final class FrameJson
{
    /**
     * The fields of a frame from its JSON.
     *
     * @param array<string, mixed> $j
     * @return array<string, mixed>
     */
    public static function fieldsIn(Opcode $opcode, array $j): array
    {
        return match ($opcode) {
            Opcode::Hello => [
                'version_min' => $j['version_min'] ?? 0,
                'version_max' => $j['version_max'] ?? 0,
                'options' => $j['options'] ?? 0,
                'heartbeat_ms' => $j['heartbeat_ms'] ?? 0,
                'session' => U64::parse($j['session'] ?? '0'),
                'secret' => isset($j['secret']) ? base64_decode($j['secret']) : Codec::NONE,
                'client_name' => $j['client_name'] ?? '',
                'token' => base64_decode($j['token'] ?? ''),
            ],
            Opcode::Push => [
                'sequence' => U64::parse($j['sequence'] ?? '0'),
                'topic' => $j['topic'] ?? '',
                'jobs' => array_map(self::newJobIn(...), $j['jobs'] ?? []),
                'idempotency' => U128::parse($j['idempotency'] ?? '0'),
                'list_jobs' => $j['list_jobs'] ?? 0,
            ],
            Opcode::Reserve => [
                'wait_ms' => U64::parse($j['wait_ms'] ?? '0'),
                'jobs_max' => $j['jobs_max'] ?? 0,
                'topics' => $j['topics'] ?? [],
                'weights' => $j['weights'] ?? [],
            ],
            Opcode::Subscribe => [
                'credit_jobs' => $j['credit_jobs'] ?? 0,
                'credit_bytes' => U64::parse($j['credit_bytes'] ?? '0'),
                'topics' => $j['topics'] ?? [],
                'weights' => $j['weights'] ?? [],
            ],
            Opcode::Credit => [
                'subscription' => $j['subscription'] ?? 0,
                'credit_jobs' => $j['credit_jobs'] ?? 0,
                'credit_bytes' => U64::parse($j['credit_bytes'] ?? '0'),
            ],
            Opcode::Unsubscribe => [
                'subscription' => $j['subscription'] ?? 0,
            ],
            Opcode::Cancel => [
                'request' => $j['request'] ?? 0,
            ],
            Opcode::Leases => [
                'after' => U64::parse($j['after'] ?? '0'),
                'jobs_max' => $j['jobs_max'] ?? 0,
            ],
            Opcode::ReserveJob => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::Finish => [
                'leases' => array_map(self::leaseIn(...), $j['leases'] ?? []),
            ],
            Opcode::Release => [
                'delay_ms' => U64::parse($j['delay_ms'] ?? '0'),
                'leases' => array_map(self::leaseIn(...), $j['leases'] ?? []),
                'reason' => $j['reason'] ?? '',
            ],
            Opcode::Touch => [
                'ttr_ms' => $j['ttr_ms'] ?? 0,
                'leases' => array_map(self::leaseIn(...), $j['leases'] ?? []),
            ],
            Opcode::Bury => [
                'leases' => array_map(self::leaseIn(...), $j['leases'] ?? []),
                'reason' => $j['reason'] ?? '',
            ],
            Opcode::Get => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::Delete => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::Reschedule => [
                'due_ms' => U64::parse($j['due_ms'] ?? '0'),
                'due_kind' => $j['due_kind'] ?? 0,
                'ref' => self::referenceIn($j),
                'if_version' => U64::parse($j['if_version'] ?? '0'),
            ],
            Opcode::RunNow => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::Kick => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::Peek => [
                'topic' => $j['topic'] ?? '',
            ],
            Opcode::KickMany => [
                'jobs_max' => $j['jobs_max'] ?? 0,
                'topic' => $j['topic'] ?? '',
            ],
            Opcode::List => [
                'jobs_max' => $j['jobs_max'] ?? 0,
                'order' => $j['order'] ?? 0,
                'marks' => $j['marks'] ?? 0,
                'cursor' => base64_decode($j['cursor'] ?? ''),
                'filter' => FilterCodec::encode(self::filterIn($j['filter'] ?? [])),
            ],
            Opcode::Count => [
                'filter' => FilterCodec::encode(self::filterIn($j['filter'] ?? [])),
                'bars' => $j['bars'] ?? 0,
                'bars_from_ms' => U64::parse($j['bars_from_ms'] ?? '0'),
                'bar_ms' => U64::parse($j['bar_ms'] ?? '0'),
            ],
            Opcode::Bulk => [
                'jobs_max' => $j['jobs_max'] ?? 0,
                'change' => $j['change'] ?? 0,
                'due_ms' => U64::parse($j['due_ms'] ?? '0'),
                'cursor' => base64_decode($j['cursor'] ?? ''),
                'filter' => FilterCodec::encode(self::filterIn($j['filter'] ?? [])),
                'to' => $j['to'] ?? '',
            ],
            Opcode::Edit => [
                'due_ms' => U64::parse($j['due_ms'] ?? '0'),
                'priority' => $j['priority'] ?? 0,
                'ttr_ms' => $j['ttr_ms'] ?? 0,
                'edited' => $j['edited'] ?? 0,
                'due_kind' => $j['due_kind'] ?? 0,
                'ref' => self::referenceIn($j),
                'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
                'body' => base64_decode($j['body'] ?? ''),
                'if_version' => U64::parse($j['if_version'] ?? '0'),
            ],
            Opcode::Pause => [
                'topic' => $j['topic'] ?? '',
                'for_ms' => U64::parse($j['for_ms'] ?? '0'),
            ],
            Opcode::Resume => [
                'topic' => $j['topic'] ?? '',
            ],
            Opcode::Connections => [
                'after' => U64::parse($j['after'] ?? '0'),
                'connections_max' => $j['connections_max'] ?? 0,
            ],
            Opcode::Disconnect => [
                'connection' => U64::parse($j['connection'] ?? '0'),
                'options' => $j['options'] ?? 0,
            ],
            Opcode::TopicSet => [
                'topic' => $j['topic'] ?? '',
                'settings' => SettingsCodec::encode(self::settingsIn($j['settings'] ?? [])),
            ],
            Opcode::TopicDelete => [
                'topic' => $j['topic'] ?? '',
            ],
            Opcode::TopicShow => [
                'topic' => $j['topic'] ?? '',
            ],
            Opcode::Advance => [
                'step' => $j['step'] ?? 0,
                'by_ms' => U64::parse($j['by_ms'] ?? '0'),
            ],
            Opcode::BackupRead => [
                'offset' => U64::parse($j['offset'] ?? '0'),
                'bytes' => $j['bytes'] ?? 0,
            ],
            Opcode::SchedulePreview => [
                'origin_ms' => U64::parse($j['origin_ms'] ?? '0'),
                'start_ms' => U64::parse($j['start_ms'] ?? '0'),
                'end_ms' => U64::parse($j['end_ms'] ?? '0'),
                'count' => U64::parse($j['count'] ?? '0'),
                'window_ms' => U64::parse($j['window_ms'] ?? '0'),
                'missed_max' => $j['missed_max'] ?? 0,
                'jitter_ms' => $j['jitter_ms'] ?? 0,
                'failures_max' => $j['failures_max'] ?? 0,
                'dst' => $j['dst'] ?? 0,
                'missed' => $j['missed'] ?? 0,
                'overlap' => $j['overlap'] ?? 0,
                'when' => $j['when'] ?? '',
                'zone' => $j['zone'] ?? '',
                'key' => $j['key'] ?? '',
                'note' => $j['note'] ?? '',
                'from_ms' => U64::parse($j['from_ms'] ?? '0'),
                'instants_max' => $j['instants_max'] ?? 0,
            ],
            Opcode::ClusterAdd => [
                'address' => $j['address'] ?? '',
            ],
            Opcode::ClusterRemove => [
                'node' => U64::parse($j['node'] ?? '0'),
            ],
            Opcode::ClusterTransfer => [
                'node' => U64::parse($j['node'] ?? '0'),
            ],
            Opcode::GroupSet => [
                'weight' => $j['weight'] ?? 0,
                'pause' => $j['pause'] ?? 0,
                'topic' => $j['topic'] ?? '',
                'group' => $j['group'] ?? '',
            ],
            Opcode::GroupList => [
                'groups_max' => $j['groups_max'] ?? 0,
                'topic' => $j['topic'] ?? '',
                'after' => $j['after'] ?? '',
                'prefix' => $j['prefix'] ?? '',
            ],
            Opcode::Why => [
                'ref' => self::referenceIn($j),
            ],
            Opcode::TopicWhy => [
                'topic' => $j['topic'] ?? '',
                'group' => $j['group'] ?? '',
            ],
            Opcode::ScheduleSet => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
                'origin_ms' => U64::parse($j['origin_ms'] ?? '0'),
                'start_ms' => U64::parse($j['start_ms'] ?? '0'),
                'end_ms' => U64::parse($j['end_ms'] ?? '0'),
                'count' => U64::parse($j['count'] ?? '0'),
                'window_ms' => U64::parse($j['window_ms'] ?? '0'),
                'missed_max' => $j['missed_max'] ?? 0,
                'jitter_ms' => $j['jitter_ms'] ?? 0,
                'failures_max' => $j['failures_max'] ?? 0,
                'dst' => $j['dst'] ?? 0,
                'missed' => $j['missed'] ?? 0,
                'overlap' => $j['overlap'] ?? 0,
                'when' => $j['when'] ?? '',
                'zone' => $j['zone'] ?? '',
                'key' => $j['key'] ?? '',
                'note' => $j['note'] ?? '',
                'priority' => $j['priority'] ?? 0,
                'ttr_ms' => $j['ttr_ms'] ?? 0,
                'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
                'body' => base64_decode($j['body'] ?? ''),
                'if_version' => $j['if_version'] ?? 0,
            ],
            Opcode::ScheduleShow => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
            ],
            Opcode::ScheduleList => [
                'schedules_max' => $j['schedules_max'] ?? 0,
                'next_before_ms' => U64::parse($j['next_before_ms'] ?? '0'),
                'paused' => $j['paused'] ?? 0,
                'topic' => $j['topic'] ?? '',
                'prefix' => $j['prefix'] ?? '',
                'cursor' => base64_decode($j['cursor'] ?? ''),
            ],
            Opcode::ScheduleDelete => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
            ],
            Opcode::SchedulePause => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
                'note' => $j['note'] ?? '',
            ],
            Opcode::ScheduleResume => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
            ],
            Opcode::ScheduleRun => [
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
            ],
            Opcode::ScheduleFill => [
                'from_ms' => U64::parse($j['from_ms'] ?? '0'),
                'to_ms' => U64::parse($j['to_ms'] ?? '0'),
                'dry_run' => $j['dry_run'] ?? 0,
                'topic' => $j['topic'] ?? '',
                'name' => $j['name'] ?? '',
            ],
            Opcode::Welcome => [
                'version' => $j['version'] ?? 0,
                'marks' => $j['marks'] ?? 0,
                'cluster_id' => isset($j['cluster_id']) ? base64_decode($j['cluster_id']) : Codec::NONE,
                'session' => U64::parse($j['session'] ?? '0'),
                'secret' => isset($j['secret']) ? base64_decode($j['secret']) : Codec::NONE,
                'heartbeat_ms' => $j['heartbeat_ms'] ?? 0,
                'session_grace_ms' => $j['session_grace_ms'] ?? 0,
                'frame_bytes_max' => $j['frame_bytes_max'] ?? 0,
                'body_bytes_max' => $j['body_bytes_max'] ?? 0,
                'push_jobs_max' => $j['push_jobs_max'] ?? 0,
                'leases_max' => $j['leases_max'] ?? 0,
                'reserve_jobs_max' => $j['reserve_jobs_max'] ?? 0,
                'in_flight_max' => $j['in_flight_max'] ?? 0,
                'server_name' => $j['server_name'] ?? '',
                'members' => array_map(self::memberIn(...), $j['members'] ?? []),
                'clock_ms' => U64::parse($j['clock_ms'] ?? '0'),
            ],
            Opcode::Pong => [
                'now' => U64::parse($j['now'] ?? '0'),
                'clock_ms' => U64::parse($j['clock_ms'] ?? '0'),
            ],
            Opcode::GoingAway => [
                'message' => $j['message'] ?? '',
                'reason' => $j['reason'] ?? 0,
            ],
            Opcode::Pushed => [
                'results' => array_map(self::pushResultIn(...), $j['results'] ?? []),
            ],
            Opcode::Reserved => [
                'jobs' => array_map(self::deliveredIn(...), $j['jobs'] ?? []),
            ],
            Opcode::Deliver => [
                'jobs' => array_map(self::deliveredIn(...), $j['jobs'] ?? []),
            ],
            Opcode::Leased => [
                'marks' => $j['marks'] ?? 0,
                'jobs' => array_map(self::deliveredIn(...), $j['jobs'] ?? []),
            ],
            Opcode::Settled => [
                'results' => array_map(self::settleResultIn(...), $j['results'] ?? []),
            ],
            Opcode::Job => [
                'job' => U64::parse($j['job'] ?? '0'),
                'due_ms' => U64::parse($j['due_ms'] ?? '0'),
                'state' => $j['state'] ?? 0,
                'buried' => $j['buried'] ?? 0,
                'priority' => $j['priority'] ?? 0,
                'attempts' => $j['attempts'] ?? 0,
                'ttr_ms' => $j['ttr_ms'] ?? 0,
                'ttr_left_ms' => $j['ttr_left_ms'] ?? 0,
                'topic' => $j['topic'] ?? '',
                'key' => $j['key'] ?? '',
                'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
                'body' => base64_decode($j['body'] ?? ''),
                'pushed_ms' => U64::parse($j['pushed_ms'] ?? '0'),
                'reserved_first_ms' => U64::parse($j['reserved_first_ms'] ?? '0'),
                'reserved_last_ms' => U64::parse($j['reserved_last_ms'] ?? '0'),
                'edited_ms' => U64::parse($j['edited_ms'] ?? '0'),
                'held_by' => $j['held_by'] ?? '',
                'reason' => $j['reason'] ?? '',
                'finished_ms' => U64::parse($j['finished_ms'] ?? '0'),
                'version' => U64::parse($j['version'] ?? '0'),
            ],
            Opcode::Changed => [
                'job' => U64::parse($j['job'] ?? '0'),
                'due_ms' => U64::parse($j['due_ms'] ?? '0'),
                'state' => $j['state'] ?? 0,
                'version' => U64::parse($j['version'] ?? '0'),
            ],
            Opcode::Kicked => [
                'jobs' => $j['jobs'] ?? 0,
            ],
            Opcode::Jobs => [
                'cursor' => base64_decode($j['cursor'] ?? ''),
                'jobs' => array_map(self::listedIn(...), $j['jobs'] ?? []),
            ],
            Opcode::Counted => [
                'jobs' => U64::parse($j['jobs'] ?? '0'),
                'by_due' => array_map(self::dueBarIn(...), $j['by_due'] ?? []),
            ],
            Opcode::Bulked => [
                'jobs' => $j['jobs'] ?? 0,
                'cursor' => base64_decode($j['cursor'] ?? ''),
                'skipped' => $j['skipped'] ?? 0,
            ],
            Opcode::TopicCounts => [
                'topics' => array_map(self::topicCountIn(...), $j['topics'] ?? []),
            ],
            Opcode::QueueStats => [
                'now' => U64::parse($j['now'] ?? '0'),
                'uptime_ms' => U64::parse($j['uptime_ms'] ?? '0'),
                'connections' => $j['connections'] ?? 0,
                'sessions' => $j['sessions'] ?? 0,
                'waiting' => $j['waiting'] ?? 0,
                'applied_index' => U64::parse($j['applied_index'] ?? '0'),
                'term' => U64::parse($j['term'] ?? '0'),
                'state_hash' => U128::parse($j['state_hash'] ?? '0'),
                'totals' => self::totalsIn($j['totals'] ?? []),
                'topics' => array_map(self::topicCountIn(...), $j['topics'] ?? []),
                'stages' => array_map(self::stageIn(...), $j['stages'] ?? []),
            ],
            Opcode::ConnectionList => [
                'marks' => $j['marks'] ?? 0,
                'connections' => array_map(self::connectionIn(...), $j['connections'] ?? []),
            ],
            Opcode::TopicSettings => [
                'jobs' => U64::parse($j['jobs'] ?? '0'),
                'bytes' => U64::parse($j['bytes'] ?? '0'),
                'pause_left_ms' => U64::parse($j['pause_left_ms'] ?? '0'),
                'marks' => $j['marks'] ?? 0,
                'settings' => SettingsCodec::encode(self::settingsIn($j['settings'] ?? [])),
            ],
            Opcode::BackupReady => [
                'index' => U64::parse($j['index'] ?? '0'),
                'jobs' => U64::parse($j['jobs'] ?? '0'),
                'state_hash' => U128::parse($j['state_hash'] ?? '0'),
                'bytes' => U64::parse($j['bytes'] ?? '0'),
            ],
            Opcode::BackupData => [
                'data' => base64_decode($j['data'] ?? ''),
            ],
            Opcode::Instants => [
                'zone_data' => $j['zone_data'] ?? '',
                'instants' => array_map(self::localInstantIn(...), $j['instants'] ?? []),
            ],
            Opcode::ClusterReport => [
                'node' => U64::parse($j['node'] ?? '0'),
                'cluster_id' => isset($j['cluster_id']) ? base64_decode($j['cluster_id']) : Codec::NONE,
                'leader' => U64::parse($j['leader'] ?? '0'),
                'term' => U64::parse($j['term'] ?? '0'),
                'last' => U64::parse($j['last'] ?? '0'),
                'commit' => U64::parse($j['commit'] ?? '0'),
                'feature_level' => $j['feature_level'] ?? 0,
                'members' => array_map(self::nodeIn(...), $j['members'] ?? []),
            ],
            Opcode::Groups => [
                'after' => $j['after'] ?? '',
                'groups' => array_map(self::groupStateIn(...), $j['groups'] ?? []),
            ],
            Opcode::Reasons => [
                'reasons' => array_map(self::reasonIn(...), $j['reasons'] ?? []),
            ],
            Opcode::Scheduled => [
                'schedule' => U64::parse($j['schedule'] ?? '0'),
                'version' => $j['version'] ?? 0,
                'next_ms' => U64::parse($j['next_ms'] ?? '0'),
            ],
            Opcode::Schedule => [
                'state' => self::scheduleStateIn($j['state'] ?? []),
                'pause_note' => $j['pause_note'] ?? '',
                'origin_ms' => U64::parse($j['origin_ms'] ?? '0'),
                'start_ms' => U64::parse($j['start_ms'] ?? '0'),
                'end_ms' => U64::parse($j['end_ms'] ?? '0'),
                'count' => U64::parse($j['count'] ?? '0'),
                'window_ms' => U64::parse($j['window_ms'] ?? '0'),
                'missed_max' => $j['missed_max'] ?? 0,
                'jitter_ms' => $j['jitter_ms'] ?? 0,
                'failures_max' => $j['failures_max'] ?? 0,
                'dst' => $j['dst'] ?? 0,
                'missed' => $j['missed'] ?? 0,
                'overlap' => $j['overlap'] ?? 0,
                'when' => $j['when'] ?? '',
                'zone' => $j['zone'] ?? '',
                'key' => $j['key'] ?? '',
                'note' => $j['note'] ?? '',
                'priority' => $j['priority'] ?? 0,
                'ttr_ms' => $j['ttr_ms'] ?? 0,
                'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
                'body' => base64_decode($j['body'] ?? ''),
                'history' => array_map(self::firingIn(...), $j['history'] ?? []),
            ],
            Opcode::Schedules => [
                'schedules' => array_map(self::listedScheduleIn(...), $j['schedules'] ?? []),
                'cursor' => base64_decode($j['cursor'] ?? ''),
            ],
            Opcode::ScheduleRan => [
                'job' => U64::parse($j['job'] ?? '0'),
            ],
            Opcode::ScheduleFilled => [
                'next_ms' => U64::parse($j['next_ms'] ?? '0'),
                'bytes' => U64::parse($j['bytes'] ?? '0'),
                'instants' => $j['instants'] ?? 0,
                'pushed' => $j['pushed'] ?? 0,
                'kept' => $j['kept'] ?? 0,
                'refused' => $j['refused'] ?? 0,
            ],
            Opcode::Error => [
                'code' => $j['code'] ?? 0,
                'marks' => $j['marks'] ?? 0,
                'applied' => $j['applied'] ?? 0,
                'retry_after_ms' => $j['retry_after_ms'] ?? 0,
                'leader' => $j['leader'] ?? '',
                'message' => $j['message'] ?? '',
            ],
            default => [],
        };
    }

    /**
     * The fields of a frame as JSON.
     *
     * @param array<string, mixed> $f
     * @return array<string, mixed>
     */
    public static function fieldsOut(Opcode $opcode, array $f): array
    {
        return match ($opcode) {
            Opcode::Hello => [
                'version_min' => $f['version_min'],
                'version_max' => $f['version_max'],
                'options' => $f['options'] & 3,
                'heartbeat_ms' => $f['heartbeat_ms'],
                'session' => U64::toString($f['session']),
                'secret' => base64_encode($f['secret']),
                'client_name' => $f['client_name'],
                'token' => base64_encode($f['token']),
            ],
            Opcode::Push => [
                'sequence' => U64::toString($f['sequence']),
                'topic' => $f['topic'],
                'jobs' => array_map(self::newJobOut(...), $f['jobs']),
                'idempotency' => U128::toString($f['idempotency']),
                'list_jobs' => $f['list_jobs'],
            ],
            Opcode::Reserve => [
                'wait_ms' => U64::toString($f['wait_ms']),
                'jobs_max' => $f['jobs_max'],
                'topics' => $f['topics'],
                'weights' => $f['weights'],
            ],
            Opcode::Subscribe => [
                'credit_jobs' => $f['credit_jobs'],
                'credit_bytes' => U64::toString($f['credit_bytes']),
                'topics' => $f['topics'],
                'weights' => $f['weights'],
            ],
            Opcode::Credit => [
                'subscription' => $f['subscription'],
                'credit_jobs' => $f['credit_jobs'],
                'credit_bytes' => U64::toString($f['credit_bytes']),
            ],
            Opcode::Unsubscribe => [
                'subscription' => $f['subscription'],
            ],
            Opcode::Cancel => [
                'request' => $f['request'],
            ],
            Opcode::Leases => [
                'after' => U64::toString($f['after']),
                'jobs_max' => $f['jobs_max'],
            ],
            Opcode::ReserveJob => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::Finish => [
                'leases' => array_map(self::leaseOut(...), $f['leases']),
            ],
            Opcode::Release => [
                'delay_ms' => U64::toString($f['delay_ms']),
                'leases' => array_map(self::leaseOut(...), $f['leases']),
                'reason' => $f['reason'],
            ],
            Opcode::Touch => [
                'ttr_ms' => $f['ttr_ms'],
                'leases' => array_map(self::leaseOut(...), $f['leases']),
            ],
            Opcode::Bury => [
                'leases' => array_map(self::leaseOut(...), $f['leases']),
                'reason' => $f['reason'],
            ],
            Opcode::Get => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::Delete => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::Reschedule => [
                'due_ms' => U64::toString($f['due_ms']),
                'due_kind' => $f['due_kind'],
                ...self::referenceOut($f['ref']),
                'if_version' => U64::toString($f['if_version']),
            ],
            Opcode::RunNow => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::Kick => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::Peek => [
                'topic' => $f['topic'],
            ],
            Opcode::KickMany => [
                'jobs_max' => $f['jobs_max'],
                'topic' => $f['topic'],
            ],
            Opcode::List => [
                'jobs_max' => $f['jobs_max'],
                'order' => $f['order'],
                'marks' => $f['marks'] & 1,
                'cursor' => base64_encode($f['cursor']),
                'filter' => (object) self::filterOfBytes($f['filter']),
            ],
            Opcode::Count => [
                'filter' => (object) self::filterOfBytes($f['filter']),
                'bars' => $f['bars'],
                'bars_from_ms' => U64::toString($f['bars_from_ms']),
                'bar_ms' => U64::toString($f['bar_ms']),
            ],
            Opcode::Bulk => [
                'jobs_max' => $f['jobs_max'],
                'change' => $f['change'],
                'due_ms' => U64::toString($f['due_ms']),
                'cursor' => base64_encode($f['cursor']),
                'filter' => (object) self::filterOfBytes($f['filter']),
                'to' => $f['to'],
            ],
            Opcode::Edit => [
                'due_ms' => U64::toString($f['due_ms']),
                'priority' => $f['priority'],
                'ttr_ms' => $f['ttr_ms'],
                'edited' => $f['edited'] & 1023,
                'due_kind' => $f['due_kind'],
                ...self::referenceOut($f['ref']),
                'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
                'body' => base64_encode($f['body']),
                'if_version' => U64::toString($f['if_version']),
            ],
            Opcode::Pause => [
                'topic' => $f['topic'],
                'for_ms' => U64::toString($f['for_ms']),
            ],
            Opcode::Resume => [
                'topic' => $f['topic'],
            ],
            Opcode::Connections => [
                'after' => U64::toString($f['after']),
                'connections_max' => $f['connections_max'],
            ],
            Opcode::Disconnect => [
                'connection' => U64::toString($f['connection']),
                'options' => $f['options'] & 1,
            ],
            Opcode::TopicSet => [
                'topic' => $f['topic'],
                'settings' => (object) self::settingsOut(SettingsCodec::decode($f['settings'])),
            ],
            Opcode::TopicDelete => [
                'topic' => $f['topic'],
            ],
            Opcode::TopicShow => [
                'topic' => $f['topic'],
            ],
            Opcode::Advance => [
                'step' => $f['step'],
                'by_ms' => U64::toString($f['by_ms']),
            ],
            Opcode::BackupRead => [
                'offset' => U64::toString($f['offset']),
                'bytes' => $f['bytes'],
            ],
            Opcode::SchedulePreview => [
                'origin_ms' => U64::toString($f['origin_ms']),
                'start_ms' => U64::toString($f['start_ms']),
                'end_ms' => U64::toString($f['end_ms']),
                'count' => U64::toString($f['count']),
                'window_ms' => U64::toString($f['window_ms']),
                'missed_max' => $f['missed_max'],
                'jitter_ms' => $f['jitter_ms'],
                'failures_max' => $f['failures_max'],
                'dst' => $f['dst'],
                'missed' => $f['missed'],
                'overlap' => $f['overlap'],
                'when' => $f['when'],
                'zone' => $f['zone'],
                'key' => $f['key'],
                'note' => $f['note'],
                'from_ms' => U64::toString($f['from_ms']),
                'instants_max' => $f['instants_max'],
            ],
            Opcode::ClusterAdd => [
                'address' => $f['address'],
            ],
            Opcode::ClusterRemove => [
                'node' => U64::toString($f['node']),
            ],
            Opcode::ClusterTransfer => [
                'node' => U64::toString($f['node']),
            ],
            Opcode::GroupSet => [
                'weight' => $f['weight'],
                'pause' => $f['pause'],
                'topic' => $f['topic'],
                'group' => $f['group'],
            ],
            Opcode::GroupList => [
                'groups_max' => $f['groups_max'],
                'topic' => $f['topic'],
                'after' => $f['after'],
                'prefix' => $f['prefix'],
            ],
            Opcode::Why => [
                ...self::referenceOut($f['ref']),
            ],
            Opcode::TopicWhy => [
                'topic' => $f['topic'],
                'group' => $f['group'],
            ],
            Opcode::ScheduleSet => [
                'topic' => $f['topic'],
                'name' => $f['name'],
                'origin_ms' => U64::toString($f['origin_ms']),
                'start_ms' => U64::toString($f['start_ms']),
                'end_ms' => U64::toString($f['end_ms']),
                'count' => U64::toString($f['count']),
                'window_ms' => U64::toString($f['window_ms']),
                'missed_max' => $f['missed_max'],
                'jitter_ms' => $f['jitter_ms'],
                'failures_max' => $f['failures_max'],
                'dst' => $f['dst'],
                'missed' => $f['missed'],
                'overlap' => $f['overlap'],
                'when' => $f['when'],
                'zone' => $f['zone'],
                'key' => $f['key'],
                'note' => $f['note'],
                'priority' => $f['priority'],
                'ttr_ms' => $f['ttr_ms'],
                'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
                'body' => base64_encode($f['body']),
                'if_version' => $f['if_version'],
            ],
            Opcode::ScheduleShow => [
                'topic' => $f['topic'],
                'name' => $f['name'],
            ],
            Opcode::ScheduleList => [
                'schedules_max' => $f['schedules_max'],
                'next_before_ms' => U64::toString($f['next_before_ms']),
                'paused' => $f['paused'],
                'topic' => $f['topic'],
                'prefix' => $f['prefix'],
                'cursor' => base64_encode($f['cursor']),
            ],
            Opcode::ScheduleDelete => [
                'topic' => $f['topic'],
                'name' => $f['name'],
            ],
            Opcode::SchedulePause => [
                'topic' => $f['topic'],
                'name' => $f['name'],
                'note' => $f['note'],
            ],
            Opcode::ScheduleResume => [
                'topic' => $f['topic'],
                'name' => $f['name'],
            ],
            Opcode::ScheduleRun => [
                'topic' => $f['topic'],
                'name' => $f['name'],
            ],
            Opcode::ScheduleFill => [
                'from_ms' => U64::toString($f['from_ms']),
                'to_ms' => U64::toString($f['to_ms']),
                'dry_run' => $f['dry_run'],
                'topic' => $f['topic'],
                'name' => $f['name'],
            ],
            Opcode::Welcome => [
                'version' => $f['version'],
                'marks' => $f['marks'] & 3,
                'cluster_id' => base64_encode($f['cluster_id']),
                'session' => U64::toString($f['session']),
                'secret' => base64_encode($f['secret']),
                'heartbeat_ms' => $f['heartbeat_ms'],
                'session_grace_ms' => $f['session_grace_ms'],
                'frame_bytes_max' => $f['frame_bytes_max'],
                'body_bytes_max' => $f['body_bytes_max'],
                'push_jobs_max' => $f['push_jobs_max'],
                'leases_max' => $f['leases_max'],
                'reserve_jobs_max' => $f['reserve_jobs_max'],
                'in_flight_max' => $f['in_flight_max'],
                'server_name' => $f['server_name'],
                'members' => array_map(self::memberOut(...), $f['members']),
                'clock_ms' => U64::toString($f['clock_ms']),
            ],
            Opcode::Pong => [
                'now' => U64::toString($f['now']),
                'clock_ms' => U64::toString($f['clock_ms']),
            ],
            Opcode::GoingAway => [
                'message' => $f['message'],
                'reason' => $f['reason'],
            ],
            Opcode::Pushed => [
                'results' => array_map(self::pushResultOut(...), $f['results']),
            ],
            Opcode::Reserved => [
                'jobs' => array_map(self::deliveredOut(...), $f['jobs']),
            ],
            Opcode::Deliver => [
                'jobs' => array_map(self::deliveredOut(...), $f['jobs']),
            ],
            Opcode::Leased => [
                'marks' => $f['marks'] & 1,
                'jobs' => array_map(self::deliveredOut(...), $f['jobs']),
            ],
            Opcode::Settled => [
                'results' => array_map(self::settleResultOut(...), $f['results']),
            ],
            Opcode::Job => [
                'job' => U64::toString($f['job']),
                'due_ms' => U64::toString($f['due_ms']),
                'state' => $f['state'],
                'buried' => $f['buried'],
                'priority' => $f['priority'],
                'attempts' => $f['attempts'],
                'ttr_ms' => $f['ttr_ms'],
                'ttr_left_ms' => $f['ttr_left_ms'],
                'topic' => $f['topic'],
                'key' => $f['key'],
                'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
                'body' => base64_encode($f['body']),
                'pushed_ms' => U64::toString($f['pushed_ms']),
                'reserved_first_ms' => U64::toString($f['reserved_first_ms']),
                'reserved_last_ms' => U64::toString($f['reserved_last_ms']),
                'edited_ms' => U64::toString($f['edited_ms']),
                'held_by' => $f['held_by'],
                'reason' => $f['reason'],
                'finished_ms' => U64::toString($f['finished_ms']),
                'version' => U64::toString($f['version']),
            ],
            Opcode::Changed => [
                'job' => U64::toString($f['job']),
                'due_ms' => U64::toString($f['due_ms']),
                'state' => $f['state'],
                'version' => U64::toString($f['version']),
            ],
            Opcode::Kicked => [
                'jobs' => $f['jobs'],
            ],
            Opcode::Jobs => [
                'cursor' => base64_encode($f['cursor']),
                'jobs' => array_map(self::listedOut(...), $f['jobs']),
            ],
            Opcode::Counted => [
                'jobs' => U64::toString($f['jobs']),
                'by_due' => array_map(self::dueBarOut(...), $f['by_due']),
            ],
            Opcode::Bulked => [
                'jobs' => $f['jobs'],
                'cursor' => base64_encode($f['cursor']),
                'skipped' => $f['skipped'],
            ],
            Opcode::TopicCounts => [
                'topics' => array_map(self::topicCountOut(...), $f['topics']),
            ],
            Opcode::QueueStats => [
                'now' => U64::toString($f['now']),
                'uptime_ms' => U64::toString($f['uptime_ms']),
                'connections' => $f['connections'],
                'sessions' => $f['sessions'],
                'waiting' => $f['waiting'],
                'applied_index' => U64::toString($f['applied_index']),
                'term' => U64::toString($f['term']),
                'state_hash' => U128::toString($f['state_hash']),
                'totals' => self::totalsOut($f['totals']),
                'topics' => array_map(self::topicCountOut(...), $f['topics']),
                'stages' => array_map(self::stageOut(...), $f['stages']),
            ],
            Opcode::ConnectionList => [
                'marks' => $f['marks'] & 1,
                'connections' => array_map(self::connectionOut(...), $f['connections']),
            ],
            Opcode::TopicSettings => [
                'jobs' => U64::toString($f['jobs']),
                'bytes' => U64::toString($f['bytes']),
                'pause_left_ms' => U64::toString($f['pause_left_ms']),
                'marks' => $f['marks'] & 7,
                'settings' => (object) self::settingsOut(SettingsCodec::decode($f['settings'])),
            ],
            Opcode::BackupReady => [
                'index' => U64::toString($f['index']),
                'jobs' => U64::toString($f['jobs']),
                'state_hash' => U128::toString($f['state_hash']),
                'bytes' => U64::toString($f['bytes']),
            ],
            Opcode::BackupData => [
                'data' => base64_encode($f['data']),
            ],
            Opcode::Instants => [
                'zone_data' => $f['zone_data'],
                'instants' => array_map(self::localInstantOut(...), $f['instants']),
            ],
            Opcode::ClusterReport => [
                'node' => U64::toString($f['node']),
                'cluster_id' => base64_encode($f['cluster_id']),
                'leader' => U64::toString($f['leader']),
                'term' => U64::toString($f['term']),
                'last' => U64::toString($f['last']),
                'commit' => U64::toString($f['commit']),
                'feature_level' => $f['feature_level'],
                'members' => array_map(self::nodeOut(...), $f['members']),
            ],
            Opcode::Groups => [
                'after' => $f['after'],
                'groups' => array_map(self::groupStateOut(...), $f['groups']),
            ],
            Opcode::Reasons => [
                'reasons' => array_map(self::reasonOut(...), $f['reasons']),
            ],
            Opcode::Scheduled => [
                'schedule' => U64::toString($f['schedule']),
                'version' => $f['version'],
                'next_ms' => U64::toString($f['next_ms']),
            ],
            Opcode::Schedule => [
                'state' => self::scheduleStateOut($f['state']),
                'pause_note' => $f['pause_note'],
                'origin_ms' => U64::toString($f['origin_ms']),
                'start_ms' => U64::toString($f['start_ms']),
                'end_ms' => U64::toString($f['end_ms']),
                'count' => U64::toString($f['count']),
                'window_ms' => U64::toString($f['window_ms']),
                'missed_max' => $f['missed_max'],
                'jitter_ms' => $f['jitter_ms'],
                'failures_max' => $f['failures_max'],
                'dst' => $f['dst'],
                'missed' => $f['missed'],
                'overlap' => $f['overlap'],
                'when' => $f['when'],
                'zone' => $f['zone'],
                'key' => $f['key'],
                'note' => $f['note'],
                'priority' => $f['priority'],
                'ttr_ms' => $f['ttr_ms'],
                'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
                'body' => base64_encode($f['body']),
                'history' => array_map(self::firingOut(...), $f['history']),
            ],
            Opcode::Schedules => [
                'schedules' => array_map(self::listedScheduleOut(...), $f['schedules']),
                'cursor' => base64_encode($f['cursor']),
            ],
            Opcode::ScheduleRan => [
                'job' => U64::toString($f['job']),
            ],
            Opcode::ScheduleFilled => [
                'next_ms' => U64::toString($f['next_ms']),
                'bytes' => U64::toString($f['bytes']),
                'instants' => $f['instants'],
                'pushed' => $f['pushed'],
                'kept' => $f['kept'],
                'refused' => $f['refused'],
            ],
            Opcode::Error => [
                'code' => $f['code'],
                'marks' => $f['marks'] & 1,
                'applied' => in_array($f['applied'], [0, 1], true) ? $f['applied'] : 1,
                'retry_after_ms' => $f['retry_after_ms'],
                'leader' => $f['leader'],
                'message' => $f['message'],
            ],
            default => [],
        };
    }

    /**
     * The attributes from their JSON, by name.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function attributesIn(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'dedupe_retention_ms', 'created_at_ms', 'postpone_max_ms' => U64::parse($value),
                'schedule_reference' => base64_decode($value),
                'expires' => self::expiryIn($value),
                'backoff' => self::backoffIn($value),
                'unknown' => array_map(static fn (array $one): array => [$one['tag'], base64_decode($one['value'])], $value),
                default => $value,
            };
        }

        return $elements;
    }

    /**
     * The attributes as JSON.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function attributesOut(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'dedupe_retention_ms', 'created_at_ms', 'postpone_max_ms' => U64::toString($value),
                'schedule_reference' => base64_encode($value),
                'expires' => self::expiryOut($value),
                'backoff' => self::backoffOut($value),
                'unknown' => array_map(static fn (array $one): array => ['tag' => $one[0], 'value' => base64_encode($one[1])], $value),
                default => $value,
            };
        }

        return $elements;
    }

    /**
     * The filter from their JSON, by name.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function filterIn(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'due_from_ms', 'due_before_ms' => U64::parse($value),
                'key_prefix' => base64_decode($value),
                default => $value,
            };
        }

        return $elements;
    }

    /**
     * The filter as JSON.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function filterOut(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'due_from_ms', 'due_before_ms' => U64::toString($value),
                'key_prefix' => base64_encode($value),
                default => $value,
            };
        }

        return $elements;
    }

    /**
     * The settings from their JSON, by name.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function settingsIn(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'expires_after_ms', 'jobs_max', 'bytes_max', 'remember_ms', 'call_back_log_ms', 'call_back_delay_ms' => U64::parse($value),
                'backoff' => self::backoffIn($value),
                'late' => self::lateIn($value),
                default => $value,
            };
        }

        return $elements;
    }

    /**
     * The settings as JSON.
     *
     * @param array<string, mixed> $elements
     * @return array<string, mixed>
     */
    public static function settingsOut(array $elements): array
    {
        foreach ($elements as $name => $value) {
            $elements[$name] = $value === null ? null : match ($name) {
                'expires_after_ms', 'jobs_max', 'bytes_max', 'remember_ms', 'call_back_log_ms', 'call_back_delay_ms' => U64::toString($value),
                'backoff' => self::backoffOut($value),
                'late' => self::lateOut($value),
                default => $value,
            };
        }

        return $elements;
    }

    private static function newJobIn(array $j): array
    {
        return [
            'due_ms' => U64::parse($j['due_ms'] ?? '0'),
            'priority' => $j['priority'] ?? 0,
            'ttr_ms' => $j['ttr_ms'] ?? 0,
            'due_kind' => $j['due_kind'] ?? 0,
            'if_exists' => $j['if_exists'] ?? 0,
            'key' => $j['key'] ?? '',
            'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
            'body' => base64_decode($j['body'] ?? ''),
        ];
    }

    private static function newJobOut(array $f): array
    {
        return [
            'due_ms' => U64::toString($f['due_ms']),
            'priority' => $f['priority'],
            'ttr_ms' => $f['ttr_ms'],
            'due_kind' => $f['due_kind'],
            'if_exists' => $f['if_exists'],
            'key' => $f['key'],
            'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
            'body' => base64_encode($f['body']),
        ];
    }

    private static function pushResultIn(array $j): array
    {
        return [
            'outcome' => $j['outcome'] ?? 0,
            'code' => $j['code'] ?? 0,
            'job' => U64::parse($j['job'] ?? '0'),
        ];
    }

    private static function pushResultOut(array $f): array
    {
        return [
            'outcome' => $f['outcome'],
            'code' => $f['code'],
            'job' => U64::toString($f['job']),
        ];
    }

    private static function leaseIn(array $j): array
    {
        return [
            'job' => U64::parse($j['job'] ?? '0'),
            'fence' => U64::parse($j['fence'] ?? '0'),
        ];
    }

    private static function leaseOut(array $f): array
    {
        return [
            'job' => U64::toString($f['job']),
            'fence' => U64::toString($f['fence']),
        ];
    }

    private static function settleResultIn(array $j): array
    {
        return [
            'code' => $j['code'] ?? 0,
        ];
    }

    private static function settleResultOut(array $f): array
    {
        return [
            'code' => $f['code'],
        ];
    }

    private static function deliveredIn(array $j): array
    {
        return [
            'job' => U64::parse($j['job'] ?? '0'),
            'fence' => U64::parse($j['fence'] ?? '0'),
            'due_ms' => U64::parse($j['due_ms'] ?? '0'),
            'priority' => $j['priority'] ?? 0,
            'attempts' => $j['attempts'] ?? 0,
            'ttr_left_ms' => $j['ttr_left_ms'] ?? 0,
            'topic' => $j['topic'] ?? '',
            'key' => $j['key'] ?? '',
            'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
            'body' => base64_decode($j['body'] ?? ''),
            'deadline_ms' => U64::parse($j['deadline_ms'] ?? '0'),
        ];
    }

    private static function deliveredOut(array $f): array
    {
        return [
            'job' => U64::toString($f['job']),
            'fence' => U64::toString($f['fence']),
            'due_ms' => U64::toString($f['due_ms']),
            'priority' => $f['priority'],
            'attempts' => $f['attempts'],
            'ttr_left_ms' => $f['ttr_left_ms'],
            'topic' => $f['topic'],
            'key' => $f['key'],
            'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
            'body' => base64_encode($f['body']),
            'deadline_ms' => U64::toString($f['deadline_ms']),
        ];
    }

    private static function listedIn(array $j): array
    {
        return [
            'job' => U64::parse($j['job'] ?? '0'),
            'due_ms' => U64::parse($j['due_ms'] ?? '0'),
            'state' => $j['state'] ?? 0,
            'buried' => $j['buried'] ?? 0,
            'priority' => $j['priority'] ?? 0,
            'attempts' => $j['attempts'] ?? 0,
            'ttr_ms' => $j['ttr_ms'] ?? 0,
            'ttr_left_ms' => $j['ttr_left_ms'] ?? 0,
            'topic' => $j['topic'] ?? '',
            'key' => $j['key'] ?? '',
            'attributes' => AttributesCodec::encode(self::attributesIn($j['attributes'] ?? [])),
            'body' => base64_decode($j['body'] ?? ''),
            'body_bytes' => $j['body_bytes'] ?? 0,
            'pushed_ms' => U64::parse($j['pushed_ms'] ?? '0'),
            'reserved_first_ms' => U64::parse($j['reserved_first_ms'] ?? '0'),
            'reserved_last_ms' => U64::parse($j['reserved_last_ms'] ?? '0'),
            'edited_ms' => U64::parse($j['edited_ms'] ?? '0'),
            'held_by' => $j['held_by'] ?? '',
            'reason' => $j['reason'] ?? '',
        ];
    }

    private static function listedOut(array $f): array
    {
        return [
            'job' => U64::toString($f['job']),
            'due_ms' => U64::toString($f['due_ms']),
            'state' => $f['state'],
            'buried' => $f['buried'],
            'priority' => $f['priority'],
            'attempts' => $f['attempts'],
            'ttr_ms' => $f['ttr_ms'],
            'ttr_left_ms' => $f['ttr_left_ms'],
            'topic' => $f['topic'],
            'key' => $f['key'],
            'attributes' => (object) self::attributesOut(AttributesCodec::decode($f['attributes'])),
            'body' => base64_encode($f['body']),
            'body_bytes' => $f['body_bytes'],
            'pushed_ms' => U64::toString($f['pushed_ms']),
            'reserved_first_ms' => U64::toString($f['reserved_first_ms']),
            'reserved_last_ms' => U64::toString($f['reserved_last_ms']),
            'edited_ms' => U64::toString($f['edited_ms']),
            'held_by' => $f['held_by'],
            'reason' => $f['reason'],
        ];
    }

    private static function totalsIn(array $j): array
    {
        return [
            'delayed' => U64::parse($j['delayed'] ?? '0'),
            'ready' => U64::parse($j['ready'] ?? '0'),
            'reserved' => U64::parse($j['reserved'] ?? '0'),
            'buried' => U64::parse($j['buried'] ?? '0'),
            'pushed' => U64::parse($j['pushed'] ?? '0'),
            'finished' => U64::parse($j['finished'] ?? '0'),
            'deleted' => U64::parse($j['deleted'] ?? '0'),
            'expired' => U64::parse($j['expired'] ?? '0'),
            'oldest_ready_ms' => U64::parse($j['oldest_ready_ms'] ?? '0'),
        ];
    }

    private static function totalsOut(array $f): array
    {
        return [
            'delayed' => U64::toString($f['delayed']),
            'ready' => U64::toString($f['ready']),
            'reserved' => U64::toString($f['reserved']),
            'buried' => U64::toString($f['buried']),
            'pushed' => U64::toString($f['pushed']),
            'finished' => U64::toString($f['finished']),
            'deleted' => U64::toString($f['deleted']),
            'expired' => U64::toString($f['expired']),
            'oldest_ready_ms' => U64::toString($f['oldest_ready_ms']),
        ];
    }

    private static function topicCountIn(array $j): array
    {
        return [
            'marks' => $j['marks'] ?? 0,
            'consumers' => $j['consumers'] ?? 0,
            'late_ms' => U64::parse($j['late_ms'] ?? '0'),
            'topic' => $j['topic'] ?? '',
            'delayed' => U64::parse($j['delayed'] ?? '0'),
            'ready' => U64::parse($j['ready'] ?? '0'),
            'reserved' => U64::parse($j['reserved'] ?? '0'),
            'buried' => U64::parse($j['buried'] ?? '0'),
            'pushed' => U64::parse($j['pushed'] ?? '0'),
            'finished' => U64::parse($j['finished'] ?? '0'),
            'deleted' => U64::parse($j['deleted'] ?? '0'),
            'expired' => U64::parse($j['expired'] ?? '0'),
            'oldest_ready_ms' => U64::parse($j['oldest_ready_ms'] ?? '0'),
        ];
    }

    private static function topicCountOut(array $f): array
    {
        return [
            'marks' => $f['marks'] & 1,
            'consumers' => $f['consumers'],
            'late_ms' => U64::toString($f['late_ms']),
            'topic' => $f['topic'],
            'delayed' => U64::toString($f['delayed']),
            'ready' => U64::toString($f['ready']),
            'reserved' => U64::toString($f['reserved']),
            'buried' => U64::toString($f['buried']),
            'pushed' => U64::toString($f['pushed']),
            'finished' => U64::toString($f['finished']),
            'deleted' => U64::toString($f['deleted']),
            'expired' => U64::toString($f['expired']),
            'oldest_ready_ms' => U64::toString($f['oldest_ready_ms']),
        ];
    }

    private static function stageIn(array $j): array
    {
        return [
            'stage' => $j['stage'] ?? '',
            'count' => U64::parse($j['count'] ?? '0'),
            'p50_us' => U64::parse($j['p50_us'] ?? '0'),
            'p99_us' => U64::parse($j['p99_us'] ?? '0'),
            'p999_us' => U64::parse($j['p999_us'] ?? '0'),
            'max_us' => U64::parse($j['max_us'] ?? '0'),
        ];
    }

    private static function stageOut(array $f): array
    {
        return [
            'stage' => $f['stage'],
            'count' => U64::toString($f['count']),
            'p50_us' => U64::toString($f['p50_us']),
            'p99_us' => U64::toString($f['p99_us']),
            'p999_us' => U64::toString($f['p999_us']),
            'max_us' => U64::toString($f['max_us']),
        ];
    }

    private static function dueBarIn(array $j): array
    {
        return [
            'start_ms' => U64::parse($j['start_ms'] ?? '0'),
            'jobs' => U64::parse($j['jobs'] ?? '0'),
        ];
    }

    private static function dueBarOut(array $f): array
    {
        return [
            'start_ms' => U64::toString($f['start_ms']),
            'jobs' => U64::toString($f['jobs']),
        ];
    }

    private static function connectionIn(array $j): array
    {
        return [
            'connection' => U64::parse($j['connection'] ?? '0'),
            'session' => U64::parse($j['session'] ?? '0'),
            'since_ms' => U64::parse($j['since_ms'] ?? '0'),
            'leases' => $j['leases'] ?? 0,
            'subscriptions' => $j['subscriptions'] ?? 0,
            'reserves' => $j['reserves'] ?? 0,
            'credit_jobs' => U64::parse($j['credit_jobs'] ?? '0'),
            'credit_bytes' => U64::parse($j['credit_bytes'] ?? '0'),
            'unsent_bytes' => U64::parse($j['unsent_bytes'] ?? '0'),
            'marks' => $j['marks'] ?? 0,
            'address' => $j['address'] ?? '',
            'client_name' => $j['client_name'] ?? '',
            'topics' => $j['topics'] ?? [],
        ];
    }

    private static function connectionOut(array $f): array
    {
        return [
            'connection' => U64::toString($f['connection']),
            'session' => U64::toString($f['session']),
            'since_ms' => U64::toString($f['since_ms']),
            'leases' => $f['leases'],
            'subscriptions' => $f['subscriptions'],
            'reserves' => $f['reserves'],
            'credit_jobs' => U64::toString($f['credit_jobs']),
            'credit_bytes' => U64::toString($f['credit_bytes']),
            'unsent_bytes' => U64::toString($f['unsent_bytes']),
            'marks' => $f['marks'] & 1,
            'address' => $f['address'],
            'client_name' => $f['client_name'],
            'topics' => $f['topics'],
        ];
    }

    private static function memberIn(array $j): array
    {
        return [
            'node' => U64::parse($j['node'] ?? '0'),
            'marks' => $j['marks'] ?? 0,
            'address' => $j['address'] ?? '',
        ];
    }

    private static function memberOut(array $f): array
    {
        return [
            'node' => U64::toString($f['node']),
            'marks' => $f['marks'] & 1,
            'address' => $f['address'],
        ];
    }

    private static function nodeIn(array $j): array
    {
        return [
            'node' => U64::parse($j['node'] ?? '0'),
            'role' => $j['role'] ?? 0,
            'marks' => $j['marks'] ?? 0,
            'matched' => U64::parse($j['matched'] ?? '0'),
            'applied' => U64::parse($j['applied'] ?? '0'),
            'ahead_ms' => (int) ($j['ahead_ms'] ?? '0'),
            'audited' => U64::parse($j['audited'] ?? '0'),
            'peer_address' => $j['peer_address'] ?? '',
            'client_address' => $j['client_address'] ?? '',
        ];
    }

    private static function nodeOut(array $f): array
    {
        return [
            'node' => U64::toString($f['node']),
            'role' => $f['role'],
            'marks' => $f['marks'] & 63,
            'matched' => U64::toString($f['matched']),
            'applied' => U64::toString($f['applied']),
            'ahead_ms' => (string) $f['ahead_ms'],
            'audited' => U64::toString($f['audited']),
            'peer_address' => $f['peer_address'],
            'client_address' => $f['client_address'],
        ];
    }

    private static function groupStateIn(array $j): array
    {
        return [
            'ready' => U64::parse($j['ready'] ?? '0'),
            'reserved' => U64::parse($j['reserved'] ?? '0'),
            'oldest_ms' => U64::parse($j['oldest_ms'] ?? '0'),
            'until_ms' => U64::parse($j['until_ms'] ?? '0'),
            'weight' => $j['weight'] ?? 0,
            'hold' => $j['hold'] ?? 0,
            'paused' => $j['paused'] ?? 0,
            'name' => $j['name'] ?? '',
        ];
    }

    private static function groupStateOut(array $f): array
    {
        return [
            'ready' => U64::toString($f['ready']),
            'reserved' => U64::toString($f['reserved']),
            'oldest_ms' => U64::toString($f['oldest_ms']),
            'until_ms' => U64::toString($f['until_ms']),
            'weight' => $f['weight'],
            'hold' => $f['hold'],
            'paused' => $f['paused'],
            'name' => $f['name'],
        ];
    }

    private static function reasonIn(array $j): array
    {
        return [
            'why' => $j['why'] ?? 0,
            'since_ms' => U64::parse($j['since_ms'] ?? '0'),
            'until_ms' => U64::parse($j['until_ms'] ?? '0'),
            'jobs' => U64::parse($j['jobs'] ?? '0'),
            'text' => $j['text'] ?? '',
        ];
    }

    private static function reasonOut(array $f): array
    {
        return [
            'why' => $f['why'],
            'since_ms' => U64::toString($f['since_ms']),
            'until_ms' => U64::toString($f['until_ms']),
            'jobs' => U64::toString($f['jobs']),
            'text' => $f['text'],
        ];
    }

    private static function scheduleStateIn(array $j): array
    {
        return [
            'schedule' => U64::parse($j['schedule'] ?? '0'),
            'next_ms' => U64::parse($j['next_ms'] ?? '0'),
            'fired' => U64::parse($j['fired'] ?? '0'),
            'version' => $j['version'] ?? 0,
            'running' => $j['running'] ?? 0,
            'failures' => $j['failures'] ?? 0,
            'paused' => $j['paused'] ?? 0,
            'marks' => $j['marks'] ?? 0,
        ];
    }

    private static function scheduleStateOut(array $f): array
    {
        return [
            'schedule' => U64::toString($f['schedule']),
            'next_ms' => U64::toString($f['next_ms']),
            'fired' => U64::toString($f['fired']),
            'version' => $f['version'],
            'running' => $f['running'],
            'failures' => $f['failures'],
            'paused' => $f['paused'],
            'marks' => $f['marks'] & 3,
        ];
    }

    private static function firingIn(array $j): array
    {
        return [
            'instant_ms' => U64::parse($j['instant_ms'] ?? '0'),
            'last_ms' => U64::parse($j['last_ms'] ?? '0'),
            'instants' => U64::parse($j['instants'] ?? '0'),
            'at_ms' => U64::parse($j['at_ms'] ?? '0'),
            'job' => U64::parse($j['job'] ?? '0'),
            'fired' => $j['fired'] ?? 0,
        ];
    }

    private static function firingOut(array $f): array
    {
        return [
            'instant_ms' => U64::toString($f['instant_ms']),
            'last_ms' => U64::toString($f['last_ms']),
            'instants' => U64::toString($f['instants']),
            'at_ms' => U64::toString($f['at_ms']),
            'job' => U64::toString($f['job']),
            'fired' => $f['fired'],
        ];
    }

    private static function localInstantIn(array $j): array
    {
        return [
            'instant_ms' => U64::parse($j['instant_ms'] ?? '0'),
            'local' => $j['local'] ?? '',
        ];
    }

    private static function localInstantOut(array $f): array
    {
        return [
            'instant_ms' => U64::toString($f['instant_ms']),
            'local' => $f['local'],
        ];
    }

    private static function listedScheduleIn(array $j): array
    {
        return [
            'schedule' => U64::parse($j['schedule'] ?? '0'),
            'next_ms' => U64::parse($j['next_ms'] ?? '0'),
            'fired' => U64::parse($j['fired'] ?? '0'),
            'version' => $j['version'] ?? 0,
            'running' => $j['running'] ?? 0,
            'failures' => $j['failures'] ?? 0,
            'paused' => $j['paused'] ?? 0,
            'marks' => $j['marks'] ?? 0,
            'origin_ms' => U64::parse($j['origin_ms'] ?? '0'),
            'start_ms' => U64::parse($j['start_ms'] ?? '0'),
            'end_ms' => U64::parse($j['end_ms'] ?? '0'),
            'count' => U64::parse($j['count'] ?? '0'),
            'window_ms' => U64::parse($j['window_ms'] ?? '0'),
            'missed_max' => $j['missed_max'] ?? 0,
            'jitter_ms' => $j['jitter_ms'] ?? 0,
            'failures_max' => $j['failures_max'] ?? 0,
            'dst' => $j['dst'] ?? 0,
            'missed' => $j['missed'] ?? 0,
            'overlap' => $j['overlap'] ?? 0,
            'when' => $j['when'] ?? '',
            'zone' => $j['zone'] ?? '',
            'key' => $j['key'] ?? '',
            'note' => $j['note'] ?? '',
            'topic' => $j['topic'] ?? '',
            'name' => $j['name'] ?? '',
            'pause_note' => $j['pause_note'] ?? '',
        ];
    }

    private static function listedScheduleOut(array $f): array
    {
        return [
            'schedule' => U64::toString($f['schedule']),
            'next_ms' => U64::toString($f['next_ms']),
            'fired' => U64::toString($f['fired']),
            'version' => $f['version'],
            'running' => $f['running'],
            'failures' => $f['failures'],
            'paused' => $f['paused'],
            'marks' => $f['marks'] & 3,
            'origin_ms' => U64::toString($f['origin_ms']),
            'start_ms' => U64::toString($f['start_ms']),
            'end_ms' => U64::toString($f['end_ms']),
            'count' => U64::toString($f['count']),
            'window_ms' => U64::toString($f['window_ms']),
            'missed_max' => $f['missed_max'],
            'jitter_ms' => $f['jitter_ms'],
            'failures_max' => $f['failures_max'],
            'dst' => $f['dst'],
            'missed' => $f['missed'],
            'overlap' => $f['overlap'],
            'when' => $f['when'],
            'zone' => $f['zone'],
            'key' => $f['key'],
            'note' => $f['note'],
            'topic' => $f['topic'],
            'name' => $f['name'],
            'pause_note' => $f['pause_note'],
        ];
    }

    private static function expiryIn(array $of): array
    {
        return ['kind' => $of['kind'], 'ms' => U64::parse($of['ms'])];
    }

    private static function expiryOut(array $of): array
    {
        return ['kind' => $of['kind'], 'ms' => U64::toString($of['ms'])];
    }

    private static function backoffIn(array $of): array
    {
        return ['kind' => $of['kind'], 'jitter' => $of['jitter'], 'waits_ms' => $of['waits_ms']];
    }

    private static function backoffOut(array $of): array
    {
        return ['kind' => $of['kind'], 'jitter' => $of['jitter'], 'waits_ms' => $of['waits_ms']];
    }

    private static function lateIn(array $of): array
    {
        return ['after_ms' => U64::parse($of['after_ms']), 'action' => $of['action'], 'value' => U64::parse($of['value'])];
    }

    private static function lateOut(array $of): array
    {
        return ['after_ms' => U64::toString($of['after_ms']), 'action' => $of['action'], 'value' => U64::toString($of['value'])];
    }

    /** @return array<string, mixed> */
    private static function filterOfBytes(string $bytes): array
    {
        $elements = [];
        foreach (Tagged::decode($bytes) as [$tag, $value]) {
            [$name, $known] = match ($tag) {
                1 => ['topic', $value],
                2 => ['states', Tagged::number('C', $value)],
                3 => ['due_from_ms', Tagged::number('P', $value)],
                4 => ['due_before_ms', Tagged::number('P', $value)],
                5 => ['key_prefix', $value],
                6 => ['attempts_min', Tagged::number('V', $value)],
                7 => ['attempts_max', Tagged::number('V', $value)],
                8 => ['buried', Tagged::number('C', $value)],
                9 => ['reason', $value],
                10 => ['group', $value],
                default => ['', null],
            };
            $elements[$name] = $known;
        }
        unset($elements['']);

        return self::filterOut($elements);
    }

    private static function referenceIn(array $j): array
    {
        return ($j['job_kind'] ?? 0) === 1
            ? ['topic' => $j['topic'], 'key' => $j['key']]
            : ['job' => U64::parse($j['job'])];
    }

    private static function referenceOut(array $ref): array
    {
        return isset($ref['key']) ? ['job_kind' => 1] + $ref : ['job_kind' => 0, 'job' => U64::toString($ref['job'])];
    }
}
