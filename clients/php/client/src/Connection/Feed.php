<?php

declare(strict_types=1);

namespace Adjourn\Connection;

/** A subscription as the session sees it. The credit bounds how many jobs wait in it. */
final class Feed
{
    /** @var list<array<string, mixed>> jobs that came and were not handed out */
    public array $jobs = [];
    /** The request id of SUBSCRIBE on the present connection; null while there is none. */
    public ?int $id = null;
    public bool $stands = false;
    /** When SUBSCRIBE was sent, or earlier. */
    public int $sentMs = 0;
    public bool $isClosed = false;
    public ?\Throwable $error = null;

    /** @param array<string, mixed> $fields of SUBSCRIBE, with all the credit that the caller has given */
    public function __construct(public array $fields)
    {
    }
}
