<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\UsageError;
use Adjourn\Protocol\Codec;

/** Where a member listens. */
final readonly class Address implements \Stringable
{
    private function __construct(
        public string $host,
        public int $port,
    ) {
    }

    /** From `host`, `host:port` or `[ipv6]:port`. */
    public static function parse(string $text): self
    {
        $isOne = preg_match('~^(\[[0-9A-Fa-f:.%a-z]+\]|[^\[\]:/@,\s]+)(?::(\d{1,5}))?$~', $text, $m) === 1;
        $port = (int) ($m[2] ?? Codec::PORT_DEFAULT);
        if (!$isOne || $port < 1 || $port > 65_535) {
            throw new UsageError("\"$text\" is no address: it looks like 127.0.0.1:7440, or adjourns://127.0.0.1:7440 for TLS.");
        }

        return new self($m[1], $port);
    }

    /** A member names an address that cannot be connected to if it is misconfigured. */
    public static function ofMember(string $text): ?self
    {
        try {
            $address = self::parse($text);
        } catch (UsageError) {
            return null;
        }

        return in_array($address->host, ['0.0.0.0', '[::]'], true) ? null : $address;
    }

    public function __toString(): string
    {
        return "$this->host:$this->port";
    }
}
