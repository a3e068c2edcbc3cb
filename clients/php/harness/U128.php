<?php

declare(strict_types=1);

namespace Adjourn\Harness;

/** Decimal digits of a number of 16 bytes, the lowest first. */
final class U128
{
    public static function toString(string $bytes): string
    {
        $digits = [0];
        foreach (array_reverse(str_split($bytes)) as $byte) {
            $carry = ord($byte);
            foreach ($digits as $place => $digit) {
                $sum = $digit * 256 + $carry;
                $digits[$place] = $sum % 10;
                $carry = intdiv($sum, 10);
            }
            for (; $carry > 0; $carry = intdiv($carry, 10)) {
                $digits[] = $carry % 10;
            }
        }

        return strrev(implode('', $digits));
    }

    public static function parse(string $decimal): string
    {
        $bytes = array_fill(0, 16, 0);
        foreach (str_split($decimal) as $digit) {
            $carry = (int) $digit;
            foreach ($bytes as $place => $byte) {
                $sum = $byte * 10 + $carry;
                $bytes[$place] = $sum & 0xFF;
                $carry = $sum >> 8;
            }
        }

        return pack('C*', ...$bytes);
    }
}
