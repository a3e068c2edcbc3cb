<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/**
 * The fields of every frame, in the order in which they are sent. The tables mirror protocol.md; the codec works
 * through them in both directions.
 *
 * Types of fields: u8 u16 u32 u64 i64; raw4 and raw16 (that many bytes); text8 and text16 (UTF-8 with a length);
 * bytes16 and bytes32; jobref. A question mark behind the type means that an older peer may leave the field out, and
 * all after it. A list is ['list', its fixed part]; a record is a fixed part without `fixed` and count.
 *
 * In a fixed part, `>text8` is the u8 length of a text that follows the part, `>texts8` the number of texts.
 */
final class Layout
{
    private const NAMES = ['topic' => '>text8'];

    private const LEASES = ['job' => 'u64', 'fence' => 'u64'];

    private const DELIVERED = [
        'job' => 'u64', 'fence' => 'u64', 'due_ms' => 'u64', 'priority' => 'u32', 'attempts' => 'u32',
        'ttr_left_ms' => 'u32', 'topic' => '>text8', 'key' => '>text16', 'attributes' => '>bytes16',
        'body' => '>bytes32', 'deadline_ms' => 'u64?',
    ];

    private const NEW_JOB = [
        'due_ms' => 'u64', 'priority' => 'u32', 'ttr_ms' => 'u32', 'due_kind' => 'u8', 'if_exists' => 'u8',
        'key' => '>text16', 'attributes' => '>bytes16', 'body' => '>bytes32',
    ];

    private const JOB = [
        'job' => 'u64', 'due_ms' => 'u64', 'state' => 'u8', 'buried' => 'u8', 'priority' => 'u32',
        'attempts' => 'u32', 'ttr_ms' => 'u32', 'ttr_left_ms' => 'u32', 'topic' => '>text8', 'key' => '>text16',
        'attributes' => '>bytes16', 'body' => '>bytes32',
    ];

    private const HISTORY = [
        'pushed_ms' => 'u64', 'reserved_first_ms' => 'u64', 'reserved_last_ms' => 'u64', 'held_by' => 'u64',
    ];

    private const TOTALS = [
        'delayed' => 'u64', 'ready' => 'u64', 'reserved' => 'u64', 'buried' => 'u64', 'pushed' => 'u64',
        'finished' => 'u64', 'deleted' => 'u64', 'expired' => 'u64', 'oldest_ready_ms' => 'u64',
    ];

    private const TOPIC = ['marks' => 'u8', 'topic' => '>text8'] + self::TOTALS;

    private const STAGE = [
        'stage' => '>text8', 'count' => 'u64', 'p50_us' => 'u64', 'p99_us' => 'u64', 'p999_us' => 'u64', 'max_us' => 'u64',
    ];

    private const CONNECTION = [
        'connection' => 'u64', 'session' => 'u64', 'since_ms' => 'u64', 'leases' => 'u32', 'subscriptions' => 'u32',
        'reserves' => 'u32', 'credit_jobs' => 'u64', 'credit_bytes' => 'u64', 'unsent_bytes' => 'u64',
        'marks' => 'u8', 'address' => '>text8', 'client_name' => '>text8', 'topics' => '>texts8',
    ];

    private const MEMBER = [
        'node' => 'u64', 'role' => 'u8', 'marks' => 'u8', 'matched' => 'u64', 'applied' => 'u64', 'ahead_ms' => 'i64',
        'audited' => 'u64', 'peer_address' => '>text8', 'client_address' => '>text8',
    ];

    /** @return array<string, string|array{string, array<string, string>}> */
    public static function of(Opcode $opcode): array
    {
        return match ($opcode) {
            Opcode::Hello => [
                'magic' => 'raw4', 'version_min' => 'u16', 'version_max' => 'u16', 'options' => 'u32',
                'heartbeat_ms' => 'u32', 'session' => 'u64', 'secret' => 'raw16', 'client_name' => 'text8',
                'token' => 'bytes16',
            ],
            Opcode::Push => ['sequence' => 'u64', 'topic' => 'text8', 'jobs' => ['list', self::NEW_JOB], 'idempotency' => 'raw16?'],
            Opcode::Reserve => [
                'wait_ms' => 'u64', 'jobs_max' => 'u32', 'topics' => ['list', self::NAMES],
                'weights' => ['list?', ['weight' => 'u16']],
            ],
            Opcode::Subscribe => [
                'credit_jobs' => 'u32', 'credit_bytes' => 'u64', 'topics' => ['list', self::NAMES],
                'weights' => ['list?', ['weight' => 'u16']],
            ],
            Opcode::Credit => ['subscription' => 'u32', 'credit_jobs' => 'u32', 'credit_bytes' => 'u64'],
            Opcode::Unsubscribe => ['subscription' => 'u32'],
            Opcode::Cancel => ['request' => 'u32'],
            Opcode::Leases => ['after' => 'u64', 'jobs_max' => 'u32'],
            Opcode::Finish => ['leases' => ['list', self::LEASES]],
            Opcode::Release => ['delay_ms' => 'u64', 'leases' => ['list', self::LEASES], 'reason' => 'text16?'],
            Opcode::Touch => ['ttr_ms' => 'u32', 'leases' => ['list', self::LEASES]],
            Opcode::Bury => ['leases' => ['list', self::LEASES], 'reason' => 'text16?'],
            Opcode::Get, Opcode::Delete, Opcode::RunNow, Opcode::Kick => ['ref' => 'jobref'],
            Opcode::Reschedule => ['due_ms' => 'u64', 'due_kind' => 'u8', 'ref' => 'jobref', 'if_version' => 'u64?'],
            Opcode::KickMany => ['jobs_max' => 'u32', 'topic' => 'text8'],
            Opcode::ListJobs => [
                'jobs_max' => 'u32', 'order' => 'u8', 'marks' => 'u8', 'cursor' => 'bytes16', 'filter' => 'bytes16',
            ],
            Opcode::Count => ['filter' => 'bytes16'],
            Opcode::Bulk => [
                'jobs_max' => 'u32', 'change' => 'u8', 'due_ms' => 'u64', 'cursor' => 'bytes16',
                'filter' => 'bytes16', 'to' => 'text8?',
            ],
            Opcode::Peek, Opcode::Pause, Opcode::Resume, Opcode::TopicDelete, Opcode::TopicShow => [
                'topic' => 'text8',
            ],
            Opcode::TopicSet => ['topic' => 'text8', 'settings' => 'bytes16'],
            Opcode::Connections => ['after' => 'u64', 'connections_max' => 'u32'],
            Opcode::Disconnect => ['connection' => 'u64', 'options' => 'u8'],
            Opcode::BackupRead => ['offset' => 'u64', 'bytes' => 'u32'],
            Opcode::ClusterAdd => ['address' => 'text8'],
            Opcode::ClusterRemove, Opcode::ClusterTransfer => ['node' => 'u64'],

            Opcode::Welcome => [
                'version' => 'u16', 'marks' => 'u8', 'cluster_id' => 'raw16', 'session' => 'u64', 'secret' => 'raw16',
                'heartbeat_ms' => 'u32', 'session_grace_ms' => 'u32', 'frame_bytes_max' => 'u32',
                'body_bytes_max' => 'u32', 'push_jobs_max' => 'u32', 'leases_max' => 'u32',
                'reserve_jobs_max' => 'u32', 'in_flight_max' => 'u32', 'server_name' => 'text8',
                'members' => ['list', ['node' => 'u64', 'marks' => 'u8', 'address' => '>text8']],
                'clock_ms' => 'u64?',
            ],
            Opcode::Pong => ['now_ms' => 'u64', 'clock_ms' => 'u64?'],
            Opcode::GoingAway => ['message' => 'text16', 'reason' => 'u8?'],
            Opcode::Pushed => ['results' => ['list', ['outcome' => 'u8', 'code' => 'u16', 'job' => 'u64']]],
            Opcode::Reserved, Opcode::Deliver => ['jobs' => ['list', self::DELIVERED]],
            Opcode::Leased => ['marks' => 'u8', 'jobs' => ['list', self::DELIVERED]],
            Opcode::Settled => ['results' => ['list', ['code' => 'u16']]],
            Opcode::Job => ['shown' => ['record', self::JOB]] + array_map(
                static fn (string $type): string => $type . '?',
                self::HISTORY + ['reason' => 'text16', 'finished_ms' => 'u64', 'version' => 'u64'],
            ),
            Opcode::Changed => ['job' => 'u64', 'due_ms' => 'u64', 'state' => 'u8', 'version' => 'u64?'],
            Opcode::Kicked => ['jobs' => 'u32'],
            Opcode::Jobs => [
                'cursor' => 'bytes16',
                'jobs' => ['list', self::JOB + ['body_bytes' => 'u32'] + self::HISTORY + ['reason' => '>text16']],
            ],
            Opcode::Counted => ['jobs' => 'u64'],
            Opcode::Bulked => ['jobs' => 'u32', 'cursor' => 'bytes16', 'in_the_way' => 'u32?'],
            Opcode::TopicCounts => ['topics' => ['list', self::TOPIC]],
            Opcode::QueueStats => [
                'now_ms' => 'u64', 'uptime_ms' => 'u64', 'connections' => 'u32', 'sessions' => 'u32',
                'waiting' => 'u32', 'applied_index' => 'u64', 'term' => 'u64', 'state_hash' => 'raw16',
            ] + self::TOTALS + ['topics' => ['list', self::TOPIC], 'stages' => ['list?', self::STAGE]],
            Opcode::ConnectionList => ['marks' => 'u8', 'connections' => ['list', self::CONNECTION]],
            Opcode::TopicSettings => ['jobs' => 'u64', 'bytes' => 'u64', 'marks' => 'u8', 'settings' => 'bytes16'],
            Opcode::BackupReady => ['index' => 'u64', 'jobs' => 'u64', 'state_hash' => 'raw16', 'bytes' => 'u64'],
            Opcode::BackupData => ['data' => 'bytes32'],
            Opcode::ClusterReport => [
                'node' => 'u64', 'cluster_id' => 'raw16', 'leader' => 'u64', 'term' => 'u64', 'last' => 'u64',
                'commit' => 'u64', 'feature_level' => 'u32', 'members' => ['list', self::MEMBER],
            ],
            Opcode::Error => [
                'code' => 'u16', 'marks' => 'u8', 'applied' => 'u8', 'retry_after_ms' => 'u32', 'leader' => 'text8',
                'message' => 'text16',
            ],
            default => [],
        };
    }
}
