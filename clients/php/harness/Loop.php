<?php

declare(strict_types=1);

namespace Adjourn\Harness;

/** Runs fibers in turns, and reads commands meanwhile. */
final class Loop
{
    private const TURN_US = 1000;

    /** @var list<\Fiber> */
    private array $fibers = [];
    private string $input = '';

    public function start(\Closure $code): void
    {
        $this->fibers[] = new \Fiber(static function () use ($code): void {
            try {
                $code();
            } catch (\Throwable $error) {
                fwrite(STDERR, $error . "\n");
            }
        });
    }

    /** @param array<string, mixed> $line */
    public function say(array $line): void
    {
        fwrite(STDOUT, json_encode($line, JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR) . "\n");
        fflush(STDOUT);
    }

    /** Until stdin ends, or `isOver` says so. */
    public function run(\Closure $command, \Closure $isOver): void
    {
        stream_set_blocking(STDIN, false);
        while (!$isOver()) {
            $read = [STDIN];
            $none = null;
            @stream_select($read, $none, $none, 0, $this->fibers === [] ? 100_000 : self::TURN_US);
            $bytes = fread(STDIN, 1 << 20);
            if (($bytes === '' || $bytes === false) && feof(STDIN)) {
                return;
            }
            $this->input .= (string) $bytes;
            while (($end = strpos($this->input, "\n")) !== false) {
                $line = substr($this->input, 0, $end);
                $this->input = substr($this->input, $end + 1);
                $this->start(static fn () => $command(json_decode($line, true, flags: JSON_THROW_ON_ERROR)));
            }
            $this->turn();
        }
    }

    /** Until this is done, for at most this long. */
    public function finish(\Closure $code, int $withinMs): void
    {
        $isDone = false;
        $this->start(static function () use ($code, &$isDone): void {
            $code();
            $isDone = true;
        });
        for ($until = hrtime(true) + $withinMs * 1_000_000; !$isDone && hrtime(true) < $until; usleep(self::TURN_US)) {
            $this->turn();
        }
    }

    private function turn(): void
    {
        // What a fiber starts meanwhile has its first turn in the next round.
        foreach ($this->fibers as $fiber) {
            $fiber->isStarted() ? $fiber->resume() : $fiber->start();
        }
        $this->fibers = array_values(array_filter($this->fibers, static fn (\Fiber $fiber): bool => !$fiber->isTerminated()));
    }
}
