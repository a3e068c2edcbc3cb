<?php

declare(strict_types=1);

namespace Adjourn\Benches;

use Predis\Client;

/** With Predis, which is written in PHP. */
final class PredisSystem extends RedisSystem
{
    private readonly Client $redis;

    public function __construct(string $address, string $name)
    {
        $this->redis = new Client("tcp://$address");
        parent::__construct($name);
    }

    public function left(): int
    {
        return $this->redis->hlen($this->key('bodies'));
    }

    protected function load(string $script): string
    {
        return $this->redis->script('load', $script);
    }

    protected function call(string $sha, array $keys, array $arguments): mixed
    {
        return $this->redis->evalsha($sha, count($keys), ...$keys, ...$arguments);
    }

    protected function pipeline(string $sha, array $calls): void
    {
        $this->redis->pipeline(static function ($pipeline) use ($sha, $calls): void {
            foreach ($calls as [$keys, $arguments]) {
                $pipeline->evalsha($sha, count($keys), ...$keys, ...$arguments);
            }
        });
    }
}
