<?php

declare(strict_types=1);

namespace Adjourn;

/** The rules of a group's name. */
final class Group
{
    public static function check(string $name): string
    {
        if (strlen($name) > Limit::GROUP_BYTES_MAX || preg_match('/^[^\p{Cc}]+$/Du', $name) !== 1) {
            throw new Error\UsageError('A group has 1 to 255 bytes of UTF-8 without control characters.');
        }

        return $name;
    }
}
