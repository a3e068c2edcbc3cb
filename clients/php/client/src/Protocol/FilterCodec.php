<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;

/** The conditions of a filter, by name. */
final class FilterCodec
{
    /** Delayed. */
    public const STATES_DELAYED = 1;
    /** Ready. */
    public const STATES_READY = 2;
    /** Reserved. */
    public const STATES_RESERVED = 4;
    /** Buried. */
    public const STATES_BURIED = 8;
    /** Finished and remembered. */
    public const STATES_FINISHED = 16;

    /**
     * @param array{
     *     topic?: string, // Its topic is this one.
     *     states?: int, // Its state is one of these. Without this condition the first four.
     *     due_from_ms?: int, // It is due at this time or later.
     *     due_before_ms?: int, // It is due before this time.
     *     key_prefix?: string, // It has a key that begins with these bytes.
     *     attempts_min?: int, // It was reserved at least this often.
     *     attempts_max?: int, // It was reserved at most this often.
     *     buried?: int, // It is buried for this reason, as in JOB, but not 0.
     *     reason?: string, // It has a last reason, and that contains this text.
     *     group?: string, // It belongs to this group.
     * } $a
     */
    public static function encode(array $a): string
    {
        $out = '';
        if (isset($a['topic'])) {
            $out .= self::element(0x0001, $a['topic']);
        }
        if (isset($a['states'])) {
            $out .= self::element(0x0002, pack('C', Codec::narrow($a['states'], 8, 'states')));
        }
        if (isset($a['due_from_ms'])) {
            $out .= self::element(0x0003, pack('P', $a['due_from_ms']));
        }
        if (isset($a['due_before_ms'])) {
            $out .= self::element(0x0004, pack('P', $a['due_before_ms']));
        }
        if (isset($a['key_prefix'])) {
            $out .= self::element(0x0005, $a['key_prefix']);
        }
        if (isset($a['attempts_min'])) {
            $out .= self::element(0x0006, pack('V', Codec::narrow($a['attempts_min'], 32, 'attempts_min')));
        }
        if (isset($a['attempts_max'])) {
            $out .= self::element(0x0007, pack('V', Codec::narrow($a['attempts_max'], 32, 'attempts_max')));
        }
        if (isset($a['buried'])) {
            $out .= self::element(0x0008, pack('C', Codec::narrow($a['buried'], 8, 'buried')));
        }
        if (isset($a['reason'])) {
            $out .= self::element(0x0009, $a['reason']);
        }
        if (isset($a['group'])) {
            $out .= self::element(0x000A, $a['group']);
        }

        return $out;
    }

    private static function element(int $tag, string $value): string
    {
        return pack('vv', $tag, strlen($value)) . $value;
    }
}
