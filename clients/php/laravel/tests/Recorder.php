<?php

declare(strict_types=1);

namespace Adjourn\Laravel\Tests;

use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Queue\InteractsWithQueue;

/** A job that writes down what happens to it. */
class Recorder implements ShouldQueue
{
    use InteractsWithQueue;
    use Queueable;

    /** @var list<string> */
    public static array $seen = [];

    public function __construct(
        public string $name,
        public int $fails = 0,
        public ?int $tries = null,
        public ?int $timeout = null,
        public int|array $backoff = 0,
    ) {
    }

    public function handle(): void
    {
        self::$seen[] = "$this->name {$this->attempts()}";
        if ($this->attempts() <= $this->fails) {
            throw new \RuntimeException("$this->name fails");
        }
    }

    public function failed(\Throwable $error): void
    {
        self::$seen[] = "$this->name failed: {$error->getMessage()}";
    }
}
