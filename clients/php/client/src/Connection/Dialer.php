<?php

declare(strict_types=1);

namespace Adjourn\Connection;

interface Dialer
{
    /** @throws \Adjourn\Error\ConnectionError if nothing listens there, or not in time */
    public function dial(Address $address, int $timeoutMs): Transport;
}
