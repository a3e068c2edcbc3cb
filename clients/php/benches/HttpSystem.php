<?php

declare(strict_types=1);

namespace Adjourn\Benches;

/** The queue's HTTP API, as a web request uses it without a client: a connection for each call. */
final class HttpSystem implements System
{
    public function __construct(private readonly string $address, private readonly string $topic)
    {
    }

    public function connect(): void
    {
        // Each call makes its connection.
    }

    public function pushOne(int $jobs): void
    {
        $job = json_encode(['body' => str_repeat('x', self::BODY_BYTES), 'delay' => self::DELAY_S . 's']);
        for (; $jobs > 0; --$jobs) {
            $this->call("/v1/topics/$this->topic/jobs", [
                'method' => 'POST',
                'header' => ['Content-Type: application/json', 'Idempotency-Key: ' . bin2hex(random_bytes(16))],
                'content' => $job,
            ]);
        }
    }

    public function pushMany(int $jobs): void
    {
        throw new \LogicException('Not measured.');
    }

    public function fill(int $jobs): void
    {
        throw new \LogicException('Not measured.');
    }

    public function work(): void
    {
        throw new \LogicException('Not measured.');
    }

    public function left(): int
    {
        return (int) json_decode($this->call("/v1/jobs/count?topic=$this->topic"), true)['jobs'];
    }

    /** @param array<string, mixed> $options of the request */
    private function call(string $path, array $options = []): string
    {
        $answer = file_get_contents("http://$this->address$path", false, stream_context_create(['http' => $options]));

        return $answer === false ? throw new \RuntimeException("$path failed.") : $answer;
    }
}
