<?php

declare(strict_types=1);

namespace Adjourn\Benches;

/** With the extension `redis`. */
final class PhpRedisSystem extends RedisSystem
{
    private readonly \Redis $redis;

    public function __construct(string $address, string $name)
    {
        [$host, $port] = explode(':', $address);
        $this->redis = new \Redis();
        $this->redis->connect($host, (int) $port);
        parent::__construct($name);
    }

    public function left(): int
    {
        return $this->redis->hLen($this->key('bodies'));
    }

    protected function load(string $script): string
    {
        return $this->redis->script('load', $script);
    }

    protected function call(string $sha, array $keys, array $arguments): mixed
    {
        $answer = $this->redis->evalSha($sha, [...$keys, ...$arguments], count($keys));
        if ($answer === false) {
            // No job, or an error: the extension answers both alike.
            $error = $this->redis->getLastError();

            return $error === null ? null : throw new \RuntimeException($error);
        }

        return $answer;
    }

    protected function pipeline(string $sha, array $calls): void
    {
        $pipeline = $this->redis->multi(\Redis::PIPELINE);
        foreach ($calls as [$keys, $arguments]) {
            $pipeline->evalSha($sha, [...$keys, ...$arguments], count($keys));
        }
        if (in_array(false, $pipeline->exec(), true)) {
            throw new \RuntimeException($this->redis->getLastError() ?? 'A script of the pipeline has failed.');
        }
    }
}
