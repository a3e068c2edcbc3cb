<?php

declare(strict_types=1);

namespace Adjourn\Protocol;

/** Bytes that are no frame of this protocol. The connection turns it into a ProtocolError. */
final class Malformed extends \UnexpectedValueException
{
    public static function cutOff(): self
    {
        return new self('A frame is cut off.');
    }

    public static function noText(): self
    {
        return new self('A text is not UTF-8.');
    }

    public static function element(string $name): self
    {
        return new self("The element \"$name\" cannot be decoded.");
    }
}
