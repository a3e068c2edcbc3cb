<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Protocol\Opcode;

/** A request from the moment it is made until it is answered, over as many connections as that takes. */
final class Call
{
    /** The server may take so long to look at many jobs, one after the other. */
    private const BROWSE_MS_MAX = 600_000;
    /** The server may take so long to write a checkpoint. */
    private const CHECKPOINT_MS_MAX = 3_600_000;

    /** Whether a copy of it is on the present connection, or in the output for it. */
    public bool $isOnWire = false;
    /** Whether an earlier copy may have been applied. */
    public bool $mayBeApplied = false;
    /** Copies that were sent. */
    public int $copies = 0;
    /** Connections that it was sent on and that ended with a garbled stream. */
    public int $faults = 0;
    public int $sentMs = 0;
    /** The connection's count of output bytes before its first byte. */
    public int $outputOffset = 0;
    /** Not to be sent again before this. */
    public int $notBeforeMs = 0;
    /** How often the server has refused it, or ended its wait early. */
    public int $refusals = 0;
    /** PUSH: the number of its first job, once it has one. */
    public ?int $firstNumber = null;
    public int $deadlineMs;
    /** How long the server is to wait with its answer on purpose. */
    public readonly int $waitMs;
    /** @var array<string, mixed>|null the fields of the answer */
    public ?array $answer = null;
    public ?\Throwable $error = null;
    public bool $isDone = false;
    /** Nobody waits for the answer any more. */
    public bool $isAbandoned = false;
    /** RESERVE: the next answer is the last one, also if it has no job and the wait is not over. */
    public bool $isCancelled = false;

    /** @param array<string, mixed> $fields */
    public function __construct(
        public readonly int $id,
        public readonly Opcode $opcode,
        public array $fields,
        public readonly int $madeMs,
        ?int $timeoutMs,
        int $timeoutMsDefault,
        /** Made by the session itself: a heartbeat, for example. */
        public readonly bool $isOwn = false,
    ) {
        $this->waitMs = match ($opcode) {
            Opcode::Push => 0,
            Opcode::Reserve => $fields['wait_ms'],
            Opcode::List, Opcode::Count, Opcode::Bulk, Opcode::Peek, Opcode::Advance => self::BROWSE_MS_MAX,
            Opcode::BackupBegin => self::CHECKPOINT_MS_MAX,
            default => 0,
        };
        $this->deadlineMs = $madeMs + ($timeoutMs ?? $timeoutMsDefault + $this->waitMs);
    }

    public function isRepeatable(): bool
    {
        return match ($this->opcode) {
            // Under the key there may be another job meanwhile, which the caller of `cancel` does not want either.
            Opcode::Delete => isset($this->fields['ref']['job']) || ($this->fields['may_repeat'] ?? false),
            Opcode::Push => $this->isNumbered() || isset($this->fields['idempotency']),
            default => $this->opcode->isRepeatable(),
        };
    }

    /** Whether it changes nothing: a time-out leaves no outcome unknown. */
    public function isRead(): bool
    {
        return match ($this->opcode) {
            Opcode::Get, Opcode::Peek, Opcode::List, Opcode::Count, Opcode::Leases, Opcode::Topics, Opcode::Stats,
            Opcode::Connections, Opcode::TopicShow, Opcode::ClusterStatus, Opcode::ScheduleShow, Opcode::ScheduleList,
            Opcode::SchedulePreview, Opcode::GroupList, Opcode::Why, Opcode::TopicWhy, Opcode::Ping, Opcode::Reserve, Opcode::Subscribe,
            Opcode::BackupBegin, Opcode::BackupRead, Opcode::BackupEnd, Opcode::Cancel, Opcode::Unsubscribe, Opcode::Credit,
            Opcode::Goodbye => true,
            default => false,
        };
    }

    /** @return list<array{job: int, fence: int}> the leases that it ends */
    public function settles(): array
    {
        return match ($this->opcode) {
            Opcode::Finish, Opcode::Release, Opcode::Bury => $this->fields['leases'],
            default => [],
        };
    }

    /** Whether it is about the connection itself, and ends with it. */
    public function isOfConnection(): bool
    {
        return match ($this->opcode) {
            Opcode::Credit, Opcode::Unsubscribe, Opcode::Cancel => true,
            default => $this->isOwn && in_array($this->opcode, [Opcode::Ping, Opcode::Leases], true),
        };
    }

    /** Whether its jobs have sequence numbers; `sequence` null asks for none. */
    public function isNumbered(): bool
    {
        return $this->opcode === Opcode::Push && $this->fields['sequence'] !== 0;
    }

    /** PUSH: is known by a random key from now on, if it has no numbers yet. */
    public function drawKey(): void
    {
        if ($this->isNumbered() && $this->firstNumber === null) {
            $this->fields['sequence'] = 0;
            $this->fields['idempotency'] = random_bytes(16);
        }
    }

    /** @param array<string, mixed> $answer */
    public function fulfil(array $answer): void
    {
        $this->answer = $answer;
        $this->error = null;
        $this->isDone = true;
    }

    public function fail(\Throwable $error): void
    {
        $this->error = $error;
        $this->isDone = true;
    }
}
