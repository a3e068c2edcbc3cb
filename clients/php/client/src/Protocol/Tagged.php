<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/** A tagged list: `tag u16`, `length u16`, value; in attributes, filters and settings of topics. */
final class Tagged
{
    /** @param list<array{int, string}> $elements */
    public static function encode(array $elements): string
    {
        $out = '';
        foreach ($elements as [$tag, $value]) {
            if (strlen($value) > 0xFFFF) {
                throw new \InvalidArgumentException("Element $tag is too long.");
            }
            $out .= pack('vv', $tag, strlen($value)) . $value;
        }

        return $out;
    }

    /** @return list<array{int, string}> */
    public static function decode(string $bytes): array
    {
        $elements = [];
        for ($at = 0; $at < strlen($bytes); $at += 4 + $head['length']) {
            if (strlen($bytes) - $at < 4) {
                throw new Malformed('A tagged list is cut off.');
            }
            $head = unpack('vtag/vlength', $bytes, $at);
            if (strlen($bytes) - $at - 4 < $head['length']) {
                throw new Malformed('A tagged list is cut off.');
            }
            $elements[] = [$head['tag'], substr($bytes, $at + 4, $head['length'])];
        }

        return $elements;
    }

    /**
     * Elements that are encoded, and others, in the order of their tags. Of one tag, the others come first.
     *
     * @param list<array{int, string}> $others
     */
    public static function merge(string $encoded, array $others): string
    {
        $elements = [...$others, ...self::decode($encoded)];
        // The sort is stable: headers keep their order. Whether a tag is critical does not count.
        usort($elements, static fn (array $a, array $b): int => ($a[0] & 0x7FFF) <=> ($b[0] & 0x7FFF));

        return self::encode($elements);
    }

    /** The integer in a value, which has to have exactly these bytes. */
    public static function number(string $code, string $value): int
    {
        $bytes = ['C' => 1, 'v' => 2, 'V' => 4, 'P' => 8][$code];
        if (strlen($value) !== $bytes) {
            throw new Malformed('A value in a tagged list has the wrong length.');
        }

        return unpack($code, $value)[1];
    }
}
