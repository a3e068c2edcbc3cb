<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function ord;
use function strlen;
use function substr;

/**
 * Frames to bytes and back: what a client sends and what it gets. No I/O, no state.
 *
 * A u64 is kept as the same 64 bits in a PHP int: a value from 2^63 on is negative here, and goes back as it came. A u128 is
 * its 16 bytes, the lowest first.
 */
final class Codec
{
    /** Bytes of the length field. */
    public const LENGTH_BYTES = 4;
    /** Bytes of opcode, flags, group, reserved and request id; the length field counts them. */
    public const HEAD_BYTES = 8;
    /** A u128 or an id that says nothing. */
    public const NONE = "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /** The version of the protocol that this schema describes. */
    public const PROTOCOL_VERSION = 1;
    /** The port of a server, unless it is configured. */
    public const PORT_DEFAULT = 7440;
    /** A PUSH without protection against repeats. */
    public const SEQUENCE_NONE = 0;
    /** `delay_ms` of a RELEASE: the attempt failed, and the job waits for its backoff. */
    public const RELEASE_BY_BACKOFF = -1;
    /** `delay_ms` of a RELEASE: the work was not begun; no attempt is counted, and the job is ready at once. */
    public const RELEASE_NOT_STARTED = -2;
    /** Added to `delay_ms` of a RELEASE: the work was not begun and is not to begin before this delay; no attempt is counted. */
    public const RELEASE_PARKED = PHP_INT_MIN;

    /** @param array<string, mixed> $f the fields of the frame */
    public static function encode(Opcode $opcode, int $requestId, array $f = []): string
    {
        $payload = match ($opcode->value) {
            0x01 => ConnectionFrames::encodeHello($f),
            0x02 => '',
            0x03 => '',
            0x10 => PushFrames::encodePush($f),
            0x20 => DeliveryFrames::encodeReserve($f),
            0x21 => DeliveryFrames::encodeSubscribe($f),
            0x22 => DeliveryFrames::encodeCredit($f),
            0x23 => DeliveryFrames::encodeUnsubscribe($f),
            0x24 => DeliveryFrames::encodeCancel($f),
            0x25 => DeliveryFrames::encodeLeases($f),
            0x26 => DeliveryFrames::encodeReserveJob($f),
            0x30 => SettleFrames::encodeFinish($f),
            0x31 => SettleFrames::encodeRelease($f),
            0x32 => SettleFrames::encodeTouch($f),
            0x33 => SettleFrames::encodeBury($f),
            0x40 => JobFrames::encodeGet($f),
            0x41 => JobFrames::encodeDelete($f),
            0x42 => JobFrames::encodeReschedule($f),
            0x43 => JobFrames::encodeRunNow($f),
            0x44 => JobFrames::encodeKick($f),
            0x45 => JobFrames::encodePeek($f),
            0x46 => JobFrames::encodeKickMany($f),
            0x47 => JobFrames::encodeList($f),
            0x48 => JobFrames::encodeCount($f),
            0x49 => JobFrames::encodeBulk($f),
            0x4A => JobFrames::encodeEdit($f),
            0x50 => TopicFrames::encodePause($f),
            0x51 => TopicFrames::encodeResume($f),
            0x52 => '',
            0x53 => '',
            0x54 => TopicFrames::encodeConnections($f),
            0x55 => TopicFrames::encodeDisconnect($f),
            0x56 => TopicFrames::encodeTopicSet($f),
            0x57 => TopicFrames::encodeTopicDelete($f),
            0x58 => TopicFrames::encodeTopicShow($f),
            0x59 => TopicFrames::encodeAdvance($f),
            0x60 => '',
            0x61 => BackupFrames::encodeBackupRead($f),
            0x62 => '',
            0x6F => ScheduleFrames::encodeSchedulePreview($f),
            0x70 => '',
            0x71 => ClusterFrames::encodeClusterAdd($f),
            0x72 => ClusterFrames::encodeClusterRemove($f),
            0x73 => ClusterFrames::encodeClusterTransfer($f),
            0x74 => ClusterFrames::encodeGroupSet($f),
            0x75 => ClusterFrames::encodeGroupList($f),
            0x76 => ClusterFrames::encodeWhy($f),
            0x77 => ClusterFrames::encodeTopicWhy($f),
            0x78 => ScheduleFrames::encodeScheduleSet($f),
            0x79 => ScheduleFrames::encodeScheduleShow($f),
            0x7A => ScheduleFrames::encodeScheduleList($f),
            0x7B => ScheduleFrames::encodeScheduleDelete($f),
            0x7C => ScheduleFrames::encodeSchedulePause($f),
            0x7D => ScheduleFrames::encodeScheduleResume($f),
            0x7E => ScheduleFrames::encodeScheduleRun($f),
            0x7F => ScheduleFrames::encodeScheduleFill($f),
        };

        return pack('VCx3V', self::HEAD_BYTES + strlen($payload), $opcode->value, $requestId) . $payload;
    }

    /**
     * Decodes what follows the length field. Null for an opcode that is not known here.
     *
     * @throws Malformed
     */
    public static function decode(string $frame): ?Message
    {
        if (strlen($frame) < self::HEAD_BYTES) {
            throw Malformed::cutOff();
        }
        $opcode = ord($frame[0]);
        $fields = match ($opcode) {
            0x81 => ConnectionFrames::decodeWelcome($frame),
            0x82 => ConnectionFrames::decodePong($frame),
            0x83 => [],
            0x84 => ConnectionFrames::decodeGoingAway($frame),
            0x90 => PushFrames::decodePushed($frame),
            0xA0 => DeliveryFrames::decodeReserved($frame),
            0xA1 => [],
            0xA2 => DeliveryFrames::decodeDeliver($frame),
            0xA3 => DeliveryFrames::decodeLeased($frame),
            0xB0 => SettleFrames::decodeSettled($frame),
            0xC0 => JobFrames::decodeJob($frame),
            0xC1 => JobFrames::decodeChanged($frame),
            0xC2 => JobFrames::decodeKicked($frame),
            0xC3 => JobFrames::decodeJobs($frame),
            0xC4 => JobFrames::decodeCounted($frame),
            0xC5 => JobFrames::decodeBulked($frame),
            0xD0 => TopicFrames::decodeTopicCounts($frame),
            0xD1 => TopicFrames::decodeQueueStats($frame),
            0xD2 => TopicFrames::decodeConnectionList($frame),
            0xD3 => TopicFrames::decodeTopicSettings($frame),
            0xE0 => BackupFrames::decodeBackupReady($frame),
            0xE1 => BackupFrames::decodeBackupData($frame),
            0xEF => ScheduleFrames::decodeInstants($frame),
            0xF0 => ClusterFrames::decodeClusterReport($frame),
            0xF5 => ClusterFrames::decodeGroups($frame),
            0xF6 => ClusterFrames::decodeReasons($frame),
            0xF8 => ScheduleFrames::decodeScheduled($frame),
            0xF9 => ScheduleFrames::decodeSchedule($frame),
            0xFA => ScheduleFrames::decodeSchedules($frame),
            0xFB => ScheduleFrames::decodeScheduleRan($frame),
            0xFC => ScheduleFrames::decodeScheduleFilled($frame),
            0xFF => ConnectionFrames::decodeError($frame),
            default => null,
        };

        return $fields === null ? null : new Message(Opcode::from($opcode), unpack('V', $frame, 4)[1], $fields);
    }

    /**
     * @internal Numbers that stand next to each other.
     *
     * @return array<string, mixed>
     */
    public static function fixed(string $format, int $bytes, string $frame, int &$at): array
    {
        if ($bytes > strlen($frame) - $at) {
            throw Malformed::cutOff();
        }
        $at += $bytes;

        return unpack($format, $frame, $at - $bytes);
    }

    /** @internal */
    public static function bytes(string $frame, int &$at, int $bytes): string
    {
        if ($bytes > strlen($frame) - $at) {
            throw Malformed::cutOff();
        }
        $at += $bytes;

        return substr($frame, $at - $bytes, $bytes);
    }

    /** @internal */
    public static function text(string $frame, int &$at, int $bytes): string
    {
        $text = self::bytes($frame, $at, $bytes);
        if (preg_match('//u', $text) !== 1) {
            throw Malformed::noText();
        }

        return $text;
    }

    /**
     * @internal The head of a list. A count that the frame has no room for is refused before anything is reserved for it.
     *
     * @return array{int, int} bytes of the fixed part of an item, and how many items there are
     */
    public static function listHead(string $frame, int &$at, int $bytesMin): array
    {
        ['fixed' => $fixed, 'count' => $count] = self::fixed('vfixed/Vcount', 6, $frame, $at);
        if ($fixed < $bytesMin) {
            throw new Malformed("The fixed part of an item has $fixed bytes, and needs $bytesMin.");
        }
        if ($count > intdiv(strlen($frame) - $at, $fixed)) {
            throw new Malformed("A list of $count items does not fit its frame.");
        }

        return [$fixed, $count];
    }

    /** @internal The number, if it has so many bits. */
    public static function narrow(int $number, int $bits, string $name): int
    {
        return $number >> $bits === 0 ? $number : throw self::outOfRange([$name => [$number, $bits]]);
    }

    /**
     * @internal
     *
     * @param array<string, array{int, int}> $numbers by name, each with the bits that there are for it
     */
    public static function outOfRange(array $numbers): \InvalidArgumentException
    {
        foreach ($numbers as $name => [$number, $bits]) {
            if ($number >> $bits !== 0) {
                return new \InvalidArgumentException($bits === 0 ? "$name must have 16 bytes." : "$name is out of range: it goes from 0 to " . (1 << $bits) - 1 . '.');
            }
        }

        return new \InvalidArgumentException('A number is out of range.');
    }
}
