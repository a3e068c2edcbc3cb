<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\Error\UsageError;
use Adjourn\Limit;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\Protocol\PushFrames;
use Adjourn\Release;
use Adjourn\Topic;

/** Refuses requests that a server would refuse before it looks at its state, beside those with a number out of range. */
final class Requests
{
    /** Behind the opcode and the flags. A server skips flags that it does not know. */
    private const GROUP_AT = 2;

    /**
     * @param string $frame what follows the length field
     * @throws Malformed
     */
    public static function check(string $frame, ?Message $message): void
    {
        self::need($frame[self::GROUP_AT] === "\0", 'the group is not 0');
        self::need($message !== null, 'the opcode is not that of a request');
        self::need($message->requestId !== 0, 'the request id is 0');
        $f = $message->fields;
        match ($message->opcode) {
            Opcode::Push => self::checkPush($f),
            Opcode::Reserve, Opcode::Subscribe => array_map(self::checkTopic(...), $f['topics']),
            Opcode::Release => self::need(
                in_array($f['delay_ms'], [Release::BACKOFF, Release::NOT_STARTED], true) || self::isDelay($f['delay_ms'] & PHP_INT_MAX),
                'the delay is out of range',
            ),
            Opcode::Touch => self::checkTtr($f['ttr_ms']),
            default => null,
        };
    }

    /** @param array<string, mixed> $f */
    private static function checkPush(array $f): void
    {
        self::checkTopic($f['topic']);
        foreach ($f['jobs'] as $job) {
            self::need($job['due_kind'] === PushFrames::DUE_KIND_AT || self::isDelay($job['due_ms']), 'the delay is out of range');
            self::checkTtr($job['ttr_ms']);
        }
    }

    private static function checkTopic(string $topic): void
    {
        try {
            Topic::check($topic);
        } catch (UsageError $error) {
            throw new Malformed($error->getMessage());
        }
    }

    private static function checkTtr(int $ms): void
    {
        self::need($ms === 0 || $ms >= Limit::TTR_MS_MIN, 'the ttr is out of range');
    }

    private static function isDelay(int $ms): bool
    {
        return $ms >= 0 && $ms <= Limit::DELAY_MS_MAX;
    }

    private static function need(bool $isSo, string $else): void
    {
        if (!$isSo) {
            throw new Malformed("The request is refused: $else.");
        }
    }
}
