<?php

declare(strict_types=1);

namespace Adjourn;

/**
 * Ids are u64; an int of PHP has 64 bits with a sign. The client keeps the same bits: an id from 2^63 on is a negative
 * int. Equality and array keys work as they are; to print, parse or order such ids, use these functions.
 */
final class U64
{
    public static function toString(int $value): string
    {
        return sprintf('%u', $value);
    }

    public static function parse(string $decimal): int
    {
        if (preg_match('/^(0|[1-9][0-9]{0,19})$/', $decimal) !== 1) {
            throw new Error\UsageError("\"$decimal\" is not an unsigned decimal number.");
        }
        $value = 0;
        foreach (str_split($decimal) as $digit) {
            $high = ($value >> 32) & 0xFFFFFFFF;
            $low = ($value & 0xFFFFFFFF) * 10 + (int) $digit;
            $high = $high * 10 + ($low >> 32);
            if ($high > 0xFFFFFFFF) {
                throw new Error\UsageError("\"$decimal\" is above 2^64 - 1.");
            }
            $value = ($high << 32) | ($low & 0xFFFFFFFF);
        }

        return $value;
    }

    /** Below, at or above 0: the order of the unsigned values. */
    public static function compare(int $a, int $b): int
    {
        return ($a ^ PHP_INT_MIN) <=> ($b ^ PHP_INT_MIN);
    }
}
