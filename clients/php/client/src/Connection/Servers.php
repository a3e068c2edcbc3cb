<?php

declare(strict_types=1);

namespace Adjourn\Connection;

use Adjourn\Error\UsageError;

/** Where the servers of a client are, and whether TLS is spoken with them. */
final readonly class Servers
{
    /** @param non-empty-list<Address> $addresses */
    private function __construct(
        public array $addresses,
        public bool $isSecure,
    ) {
    }

    /**
     * From `adjourn://host:port,host:port`, `adjourns://` for TLS, `host:port`, or a list of these. The scheme of the first holds for
     * all.
     *
     * @param string|list<string> $text
     */
    public static function parse(string|array $text): self
    {
        $parts = explode(',', is_string($text) ? $text : implode(',', $text));
        $addresses = [];
        $first = '';
        foreach ($parts as $part) {
            preg_match('~^(adjourns?://)?(.*?)/?$~s', trim($part), $m);
            if ($addresses === []) {
                $first = $m[1];
            } elseif ($m[1] !== '' && $m[1] !== $first) {
                throw new UsageError("\"$part\": TLS is spoken with all servers or with none: write adjourns:// once, before the first.");
            }
            $addresses[] = Address::parse($m[2]);
        }

        return new self($addresses, $first === 'adjourns://');
    }
}
