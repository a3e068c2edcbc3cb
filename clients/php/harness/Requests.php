<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Due;
use Adjourn\Error\UsageError;
use Adjourn\IfExists;
use Adjourn\ListOrder;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\Release;
use Adjourn\Topic;

/** Refuses requests that a server would refuse before it looks at its state. A client only writes requests. */
final class Requests
{
    /** Behind the opcode and the flags. A server skips flags that it does not know. */
    private const GROUP_AT = 2;
    private const TTR_MS_MIN = 100;
    private const TTR_MS_MAX = 604_800_000;

    /**
     * @param string $frame what follows the length field
     * @throws Malformed
     */
    public static function check(string $frame, ?Message $message): void
    {
        self::need($frame[self::GROUP_AT] === "\0", 'the group is not 0');
        self::need($message !== null && $message->opcode->value < Opcode::Welcome->value, 'the opcode is not that of a request');
        self::need($message->requestId !== 0, 'the request id is 0');
        $f = $message->fields;
        match ($message->opcode) {
            Opcode::Hello => self::need($f['magic'] === 'ADJ1', 'the magic is missing'),
            Opcode::Push => self::checkPush($f),
            Opcode::Reserve => self::need(self::names($f['topics']) && $f['jobs_max'] > 0, 'RESERVE has no topic, or jobs_max is 0'),
            Opcode::Subscribe => self::need(self::names($f['topics']), 'SUBSCRIBE has no topic'),
            Opcode::Release => self::need(
                in_array($f['delay_ms'], [Release::BACKOFF, Release::NOT_STARTED], true) || self::isDelay($f['delay_ms']),
                'the delay is out of range',
            ),
            Opcode::Touch => self::need($f['ttr_ms'] === 0 || self::isTtr($f['ttr_ms']), 'the ttr is out of range'),
            Opcode::ListJobs => self::need(ListOrder::tryFrom($f['order']) !== null, 'the order is unknown'),
            default => null,
        };
    }

    /** @param array<string, mixed> $f */
    private static function checkPush(array $f): void
    {
        self::need($f['jobs'] !== [], 'PUSH has no job');
        self::need(self::names([['topic' => $f['topic']]]), 'the topic is no name');
        foreach ($f['jobs'] as $job) {
            self::need(in_array($job['due_kind'], [0, 1], true), 'due_kind is unknown');
            self::need($job['due_kind'] === 1 || self::isDelay($job['due_ms']), 'the delay is out of range');
            self::need($job['ttr_ms'] === 0 || self::isTtr($job['ttr_ms']), 'the ttr is out of range');
            self::need(IfExists::tryFrom($job['if_exists']) !== null, 'if_exists is unknown');
        }
    }

    /** @param list<array{topic: string}> $topics */
    private static function names(array $topics): bool
    {
        try {
            array_map(Topic::check(...), array_column($topics, 'topic'));
        } catch (UsageError) {
            return false;
        }

        return $topics !== [];
    }

    private static function isDelay(int $ms): bool
    {
        try {
            return Due::afterMs($ms)->ms === $ms;
        } catch (UsageError) {
            return false;
        }
    }

    private static function isTtr(int $ms): bool
    {
        return $ms >= self::TTR_MS_MIN && $ms <= self::TTR_MS_MAX;
    }

    private static function need(bool $isSo, string $else): void
    {
        if (!$isSo) {
            throw new Malformed("The request is refused: $else.");
        }
    }
}
