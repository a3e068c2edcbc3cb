<?php

declare(strict_types=1);

namespace Adjourn;

/** Why a job was released or buried: a text of at most 1,024 bytes. */
final class Reason
{
    /** Makes any bytes a reason: what is no UTF-8 is replaced, and the rest cut off between two characters. */
    public static function cut(string $text): string
    {
        if (preg_match('//u', $text) !== 1) {
            $text = preg_replace('/[^\x20-\x7e\n\t]/', '?', $text);
        }
        if (strlen($text) > Limit::REASON_BYTES_MAX) {
            $text = preg_replace('/[\xC0-\xFF]?[\x80-\xBF]*$/D', '', substr($text, 0, Limit::REASON_BYTES_MAX));
        }

        return $text;
    }
}
