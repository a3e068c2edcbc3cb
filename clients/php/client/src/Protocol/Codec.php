<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/**
 * Frames to bytes and back, by the tables of Layout. No I/O, no state.
 *
 * A u64 is kept as the same 64 bits in a PHP int: a value from 2^63 on is negative here, and goes back as it came.
 */
final class Codec
{
    /** Bytes of the length field. */
    public const LENGTH_BYTES = 4;
    /** Bytes of opcode, flags, group, reserved and request id; the length field counts them. */
    public const HEAD_BYTES = 8;
    /** The server never sends a frame whose length is above this. */
    public const RESPONSE_BYTES_MAX = 33_554_432;

    private const PACK = ['u8' => 'C', 'u16' => 'v', 'u32' => 'V', 'u64' => 'P', 'i64' => 'P', 'raw4' => 'a4', 'raw16' => 'a16'];
    private const BYTES = ['u8' => 1, 'u16' => 2, 'u32' => 4, 'u64' => 8, 'i64' => 8, 'raw4' => 4, 'raw16' => 16];
    private const MAX = ['u8' => 0xFF, 'u16' => 0xFFFF, 'u32' => 0xFFFFFFFF];
    /** The integer that holds a length, and whether the bytes are a text. */
    private const SIZED = [
        'text8' => ['u8', true], 'text16' => ['u16', true], 'texts8' => ['u8', false],
        'bytes16' => ['u16', false], 'bytes32' => ['u32', false],
    ];

    /** @param array<string, mixed> $fields */
    public static function encode(Opcode $opcode, int $requestId, array $fields = []): string
    {
        $payload = '';
        foreach (Layout::of($opcode) as $name => $type) {
            if (is_array($type)) {
                $payload .= self::encodeItems($type[0], $type[1], $fields[$name] ?? null);
                continue;
            }
            if ($type[-1] === '?') {
                if (($fields[$name] ?? null) === null) {
                    break;
                }
                $type = substr($type, 0, -1);
            }
            $payload .= self::encodeField($type, $fields[$name], $name);
        }

        return pack('VCx3V', self::HEAD_BYTES + strlen($payload), $opcode->value, $requestId) . $payload;
    }

    /**
     * Decodes what follows the length field. Null for an opcode that this client does not know.
     *
     * @throws Malformed
     */
    public static function decode(string $frame): ?Message
    {
        if (strlen($frame) < self::HEAD_BYTES) {
            throw new Malformed('A frame is shorter than its head.');
        }
        $head = unpack('Copcode/x3/Vid', $frame);
        $opcode = Opcode::tryFrom($head['opcode']);
        if ($opcode === null) {
            return null;
        }
        $at = self::HEAD_BYTES;
        $fields = [];
        foreach (Layout::of($opcode) as $name => $type) {
            if (is_array($type)) {
                $fields[$name] = self::decodeItems($type[0], $type[1], $frame, $at);
                continue;
            }
            if ($type[-1] === '?') {
                if ($at === strlen($frame)) {
                    $fields[$name] = null;
                    continue;
                }
                $type = substr($type, 0, -1);
            }
            $fields[$name] = self::decodeField($type, $frame, $at);
        }

        return new Message($opcode, $head['id'], $fields);
    }

    private static function encodeField(string $type, mixed $value, string $name): string
    {
        if ($type === 'jobref') {
            return isset($value['key'])
                ? "\x01" . self::encodeField('text8', $value['topic'], 'topic') . self::encodeField('text16', $value['key'], 'key')
                : "\x00" . pack('P', $value['job']);
        }
        if (isset(self::SIZED[$type])) {
            return self::encodeField(self::SIZED[$type][0], strlen($value), $name) . $value;
        }
        $max = self::MAX[$type] ?? null;
        if ($max !== null && ($value < 0 || $value > $max)) {
            throw new \InvalidArgumentException("$name is out of range: it goes from 0 to $max.");
        }
        if ($type[0] === 'r' && strlen($value) !== self::BYTES[$type]) {
            throw new \InvalidArgumentException("$name has to have " . self::BYTES[$type] . ' bytes.');
        }

        return pack(self::PACK[$type], $value);
    }

    private static function decodeField(string $type, string $frame, int &$at): mixed
    {
        if ($type === 'jobref') {
            $kind = self::decodeField('u8', $frame, $at);

            return match ($kind) {
                0 => ['job' => self::decodeField('u64', $frame, $at)],
                1 => [
                    'topic' => self::decodeField('text8', $frame, $at),
                    'key' => self::decodeField('text16', $frame, $at),
                ],
                default => throw new Malformed("A job reference is of the unknown kind $kind."),
            };
        }
        if (isset(self::SIZED[$type])) {
            [$length, $isText] = self::SIZED[$type];

            return self::take($frame, $at, self::decodeField($length, $frame, $at), $isText);
        }
        $bytes = self::BYTES[$type];
        self::need($frame, $at, $bytes);
        $value = $type[0] === 'r' ? substr($frame, $at, $bytes) : unpack(self::PACK[$type], $frame, $at)[1];
        $at += $bytes;

        return $value;
    }

    /** @param array<string, string> $fixed */
    private static function encodeItems(string $kind, array $fixed, mixed $items): string
    {
        if ($kind === 'record') {
            return self::encodeItem($fixed, $items);
        }
        if ($items === null && $kind === 'list?') {
            return '';
        }
        $plan = self::plan($fixed);
        $out = pack('vV', $plan['bytes'], count($items));
        foreach ($items as $item) {
            $out .= self::encodeItem($fixed, $item);
        }

        return $out;
    }

    /**
     * @param array<string, string> $fixed
     * @param array<string, mixed> $item
     */
    private static function encodeItem(array $fixed, array $item): string
    {
        $head = '';
        $pieces = '';
        foreach ($fixed as $name => $type) {
            $type = rtrim($type, '?');
            if ($type[0] !== '>') {
                $head .= self::encodeField($type, $item[$name], $name);
                continue;
            }
            $type = substr($type, 1);
            if ($type === 'texts8') {
                $head .= self::encodeField('u8', count($item[$name]), $name);
                foreach ($item[$name] as $text) {
                    $pieces .= self::encodeField('text8', $text, $name);
                }
                continue;
            }
            $head .= self::encodeField(self::SIZED[$type][0], strlen($item[$name]), $name);
            $pieces .= $item[$name];
        }

        return $head . $pieces;
    }

    /**
     * @param array<string, string> $fixed
     * @return array<mixed>|null
     */
    private static function decodeItems(string $kind, array $fixed, string $frame, int &$at): ?array
    {
        $plan = self::plan($fixed);
        if ($kind === 'record') {
            return self::decodeItem($plan, $plan['bytes'], $frame, $at);
        }
        if ($kind === 'list?' && $at === strlen($frame)) {
            return null;
        }
        $bytes = self::decodeField('u16', $frame, $at);
        $count = self::decodeField('u32', $frame, $at);
        if ($bytes < $plan['bytes_min']) {
            throw new Malformed("The fixed part of an item has $bytes bytes, and needs {$plan['bytes_min']}.");
        }
        // A count that the frame has no room for is refused before anything is reserved for it.
        if ($count > intdiv(strlen($frame) - $at, $bytes)) {
            throw new Malformed("A list of $count items does not fit its frame.");
        }
        $items = [];
        for (; $count > 0; --$count) {
            $items[] = self::decodeItem($plan, $bytes, $frame, $at);
        }

        return $items;
    }

    /**
     * @param array{unpack: string, short: string, bytes: int, bytes_min: int, pieces: array<string, string>, optional: list<string>} $plan
     * @return array<string, mixed>
     */
    private static function decodeItem(array $plan, int $bytes, string $frame, int &$at): array
    {
        self::need($frame, $at, $bytes);
        if ($bytes >= $plan['bytes']) {
            $item = unpack($plan['unpack'], $frame, $at);
        } else {
            $item = unpack($plan['short'], $frame, $at) + array_fill_keys($plan['optional'], null);
        }
        $at += $bytes;
        foreach ($plan['pieces'] as $name => $type) {
            if ($type === 'texts8') {
                $texts = [];
                for ($count = $item[$name]; $count > 0; --$count) {
                    $texts[] = self::decodeField('text8', $frame, $at);
                }
                $item[$name] = $texts;
                continue;
            }
            $item[$name] = self::take($frame, $at, $item[$name], self::SIZED[$type][1]);
        }

        return $item;
    }

    /**
     * What unpack() needs for a fixed part. Each table is looked at once.
     *
     * @param array<string, string> $fixed
     * @return array{unpack: string, short: string, bytes: int, bytes_min: int, pieces: array<string, string>, optional: list<string>}
     */
    private static function plan(array $fixed): array
    {
        static $plans = [];
        $id = implode(',', array_keys($fixed));
        if (isset($plans[$id])) {
            return $plans[$id];
        }
        $plan = ['unpack' => '', 'short' => '', 'bytes' => 0, 'bytes_min' => 0, 'pieces' => [], 'optional' => []];
        foreach ($fixed as $name => $type) {
            $isOptional = $type[-1] === '?';
            $type = rtrim($type, '?');
            if ($type[0] === '>') {
                $plan['pieces'][$name] = substr($type, 1);
                $type = self::SIZED[substr($type, 1)][0];
            }
            $plan['unpack'] .= '/' . self::PACK[$type] . $name;
            $plan['bytes'] += self::BYTES[$type];
            if ($isOptional) {
                $plan['optional'][] = $name;
            } else {
                $plan['short'] .= '/' . self::PACK[$type] . $name;
                $plan['bytes_min'] += self::BYTES[$type];
            }
        }
        $plan['unpack'] = substr($plan['unpack'], 1);
        $plan['short'] = substr($plan['short'], 1);

        return $plans[$id] = $plan;
    }

    private static function take(string $frame, int &$at, int $bytes, bool $isText): string
    {
        self::need($frame, $at, $bytes);
        $value = substr($frame, $at, $bytes);
        if ($isText && preg_match('//u', $value) !== 1) {
            throw new Malformed('A text is not UTF-8.');
        }
        $at += $bytes;

        return $value;
    }

    private static function need(string $frame, int $at, int $bytes): void
    {
        if ($bytes > strlen($frame) - $at) {
            throw new Malformed('A frame is cut off.');
        }
    }
}
