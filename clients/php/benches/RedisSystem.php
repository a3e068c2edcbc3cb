<?php

declare(strict_types=1);

namespace Adjourn\Benches;

/** A delay queue as one builds it on Redis: a sorted set by due time, a hash of bodies, and scripts. */
abstract class RedisSystem implements System
{
    /** Keys: due, bodies, ids. Arguments: the due time, then the bodies. */
    private const PUSH = <<<'LUA'
        local last = redis.call('INCRBY', KEYS[3], #ARGV - 1)
        for n = 2, #ARGV do
            local id = last - #ARGV + n
            redis.call('HSET', KEYS[2], id, ARGV[n])
            redis.call('ZADD', KEYS[1], ARGV[1], id)
        end
        return last
        LUA;
    /** Keys: due, bodies, reserved. Arguments: now, the end of the reservation. */
    private const TAKE = <<<'LUA'
        local id = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, 1)[1]
        if not id then return false end
        redis.call('ZREM', KEYS[1], id)
        redis.call('ZADD', KEYS[3], ARGV[2], id)
        return {id, redis.call('HGET', KEYS[2], id)}
        LUA;
    /** Keys: reserved, bodies. Argument: the id. */
    private const FINISH = <<<'LUA'
        if redis.call('ZREM', KEYS[1], ARGV[1]) == 1 then redis.call('HDEL', KEYS[2], ARGV[1]) end
        LUA;
    /** Batches that are under way at once, as many as this client has. */
    private const PIPELINED = 8;

    private readonly string $push;
    private readonly string $take;
    private readonly string $finish;

    public function __construct(private readonly string $name)
    {
        [$this->push, $this->take, $this->finish] = array_map(sha1(...), [self::PUSH, self::TAKE, self::FINISH]);
    }

    /** Loads the scripts, which the server keeps for later connections. */
    public function connect(): void
    {
        array_map($this->load(...), [self::PUSH, self::TAKE, self::FINISH]);
    }

    public function pushOne(int $jobs): void
    {
        for (; $jobs > 0; --$jobs) {
            $this->call($this->push, ...$this->batch(1, self::DELAY_S));
        }
    }

    public function pushMany(int $jobs): void
    {
        $this->pushAll($jobs, self::DELAY_S);
    }

    public function fill(int $jobs): void
    {
        $this->pushAll($jobs, 0);
    }

    public function work(): void
    {
        $keys = [$this->key('due'), $this->key('bodies'), $this->key('reserved')];
        while (($job = $this->call($this->take, $keys, [self::nowMs(), self::nowMs() + 1000 * self::TTR_S])) !== null) {
            // Here the handler would have its turn.
            $this->call($this->finish, [$this->key('reserved'), $this->key('bodies')], [$job[0]]);
        }
    }

    /** The sha of the script. */
    abstract protected function load(string $script): string;

    /**
     * EVALSHA. Null if there is nothing.
     *
     * @param list<string> $keys
     * @param list<int|string> $arguments
     */
    abstract protected function call(string $sha, array $keys, array $arguments): mixed;

    /**
     * EVALSHA with each of these, in one pipeline.
     *
     * @param list<array{list<string>, list<int|string>}> $calls keys and arguments
     */
    abstract protected function pipeline(string $sha, array $calls): void;

    protected function key(string $of): string
    {
        return "{{$this->name}}:$of";
    }

    private function pushAll(int $jobs, int $delayS): void
    {
        $batches = [];
        for (; $jobs > 0; $jobs -= self::BATCH_JOBS) {
            $batches[] = $this->batch(min($jobs, self::BATCH_JOBS), $delayS);
            if (count($batches) === self::PIPELINED) {
                $this->pipeline($this->push, $batches);
                $batches = [];
            }
        }
        $batches === [] || $this->pipeline($this->push, $batches);
    }

    /** @return array{list<string>, list<int|string>} keys and arguments of PUSH */
    private function batch(int $jobs, int $delayS): array
    {
        return [
            [$this->key('due'), $this->key('bodies'), $this->key('ids')],
            [self::nowMs() + 1000 * $delayS, ...array_fill(0, $jobs, str_repeat('x', self::BODY_BYTES))],
        ];
    }

    private static function nowMs(): int
    {
        return (int) (microtime(true) * 1000);
    }
}
