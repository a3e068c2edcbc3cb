<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\JobReport;
use Adjourn\Protocol\Codec;
use Adjourn\Protocol\Malformed;
use Adjourn\Protocol\Message;
use Adjourn\Protocol\Opcode;
use Adjourn\PushResult;
use Adjourn\Tests\Protocol\ServerCodec;
use Adjourn\TopicSettings;
use Adjourn\U64;

/** Whole frames as the conformance suite writes them, in JSON. */
final class Frames
{
    /** @param array<string, mixed> $frame */
    public static function encode(string $side, array $frame): string
    {
        $opcode = self::opcode($frame['opcode']);
        $fields = FrameJson::fieldsIn($opcode, $frame['fields']);

        return $side === 'request'
            ? Codec::encode($opcode, $frame['request_id'], $fields)
            : ServerCodec::encode($opcode, $frame['request_id'], $fields);
    }

    /**
     * @param string $side `request` or `response`
     * @return array<string, mixed>
     */
    public static function decode(string $side, string $bytes): array
    {
        $length = strlen($bytes) < Codec::LENGTH_BYTES ? -1 : unpack('V', $bytes)[1];
        if ($length !== strlen($bytes) - Codec::LENGTH_BYTES) {
            throw new Malformed('The length is not that of the frame.');
        }
        $frame = substr($bytes, Codec::LENGTH_BYTES);
        $message = $side === 'request' ? ServerCodec::decode($frame) : Codec::decode($frame);
        if ($side === 'request') {
            Requests::check($frame, $message);
        }
        if ($message === null) {
            return ['request_id' => unpack('V', $frame, 4)[1], 'opcode' => ord($frame[0]), 'fields' => new \stdClass()];
        }
        $fields = FrameJson::fieldsOut($message->opcode, $message->fields);
        if ($message->opcode === Opcode::Pushed) {
            $fields['results'] = array_map(self::pushResult(...), $message->fields['results']);
        }
        self::show($message);

        return ['request_id' => $message->requestId, 'opcode' => self::name($message->opcode->name), 'fields' => (object) $fields];
    }

    /** What the protocol calls something. */
    public static function name(string $case): string
    {
        return strtoupper(preg_replace('/(?<!^)[A-Z]/', '_$0', $case));
    }

    /** A client must be able to show every job, and every topic. */
    private static function show(Message $message): void
    {
        match ($message->opcode) {
            Opcode::Job => JobReport::of($message->fields),
            Opcode::Jobs => array_map(JobReport::of(...), $message->fields['jobs']),
            Opcode::TopicSettings => TopicSettings::of($message->fields),
            default => null,
        };
    }

    /**
     * An outcome that the client does not know is a refusal.
     *
     * @param array{outcome: int, code: int, job: int} $fields
     * @return array<string, mixed>
     */
    private static function pushResult(array $fields): array
    {
        $result = PushResult::of($fields);

        return ['outcome' => $result->outcome->value, 'code' => $result->code, 'job' => U64::toString($result->job ?? 0)];
    }

    private static function opcode(string $name): Opcode
    {
        foreach (Opcode::cases() as $opcode) {
            if (self::name($opcode->name) === $name) {
                return $opcode;
            }
        }
        throw new \InvalidArgumentException("$name is no opcode.");
    }
}
