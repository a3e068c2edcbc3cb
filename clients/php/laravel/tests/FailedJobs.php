<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

use Illuminate\Queue\Failed\FailedJobProviderInterface;

/** The table `failed_jobs`, without a database. */
class FailedJobs implements FailedJobProviderInterface
{
    /** @var array<int, object> by id */
    private array $rows = [];
    private int $lastId = 0;

    public function log($connection, $queue, $payload, $exception)
    {
        $id = ++$this->lastId;
        $this->rows[$id] = (object) (compact('id', 'connection', 'queue', 'payload') + ['exception' => (string) $exception]);

        return $id;
    }

    public function all()
    {
        return array_values($this->rows);
    }

    public function find($id)
    {
        return $this->rows[$id] ?? null;
    }

    public function forget($id)
    {
        $isThere = isset($this->rows[$id]);
        unset($this->rows[$id]);

        return $isThere;
    }

    public function flush()
    {
        $this->rows = [];
    }
}
