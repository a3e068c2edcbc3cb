<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Connection\Session;
use Adjourn\Error\ErrorCode;
use Adjourn\Error\UsageError;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Opcode;

/** @internal A list of jobs under one idempotency key. Each job has a number: the key, and those that follow it. */
final readonly class KeyedPush
{
    public function __construct(
        private Session $session,
        private string $topic,
        private string $key,
    ) {
        if (strlen($key) !== strlen(Codec::NONE) || $key === Codec::NONE) {
            throw new UsageError('An idempotency key has 16 bytes, and they are not all zero.');
        }
    }

    /**
     * Sends one frame after the other. Once a number was used for another job, what follows is not sent, and refused for the same
     * reason.
     *
     * @param list<list<array<string, mixed>>> $batches the jobs of each frame
     * @return list<PushResult>
     */
    public function send(array $batches): array
    {
        $jobs = array_sum(array_map(count(...), $batches));
        if ($jobs > Limit::IDEMPOTENT_LIST_JOBS_MAX) {
            throw new UsageError("A list under an idempotency key has at most 8,192 jobs, and not $jobs.");
        }
        self::plus($this->key, max(0, $jobs - 1));
        $reused = new PushResult(PushOutcome::Refused, null, ErrorCode::SequenceReused->value);
        $results = [];
        $isReused = false;
        foreach ($batches as $batch) {
            if ($isReused) {
                array_push($results, ...array_fill(0, count($batch), $reused));
                continue;
            }
            $answer = $this->session->call(Opcode::Push, [
                'sequence' => Codec::SEQUENCE_NONE,
                'topic' => $this->topic,
                'jobs' => $batch,
                'idempotency' => self::plus($this->key, count($results)),
                'list_jobs' => count($batches) > 1 ? $jobs : 0,
            ]);
            array_push($results, ...array_map(PushResult::of(...), $answer['results']));
            $isReused = in_array($reused->code, array_column($answer['results'], 'code'), true);
        }

        return $results;
    }

    /** The key as a u128, least significant byte first, and a number. */
    private static function plus(string $key, int $number): string
    {
        $words = unpack('V4', $key);
        foreach ($words as $place => $word) {
            $number += $word;
            $words[$place] = $number & 0xFFFFFFFF;
            $number >>= 32;
        }
        if ($number > 0) {
            throw new UsageError('An idempotency key and the number of its jobs are at most 2^128 together: take a smaller key, least significant byte first.');
        }

        return pack('V4', ...$words);
    }
}
