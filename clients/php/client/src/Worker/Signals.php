<?php

declare(strict_types=1);

namespace Adjourn\Worker;

/** Handlers of signals for as long as a worker runs. Those from before come back afterwards. */
final class Signals
{
    /** @var array<int, mixed> */
    private array $before = [];
    private ?bool $wasAsync = null;

    public function handle(int $signal, callable $handler): void
    {
        if (!function_exists('pcntl_signal')) {
            return;
        }
        $this->wasAsync ??= pcntl_async_signals(true);
        $this->before[$signal] ??= pcntl_signal_get_handler($signal);
        // Without restart: a wait ends when the signal comes.
        pcntl_signal($signal, $handler, false);
    }

    public function restore(): void
    {
        foreach ($this->before as $signal => $handler) {
            if ($signal === SIGALRM) {
                pcntl_alarm(0);
            }
            pcntl_signal($signal, $handler);
        }
        if ($this->wasAsync === false) {
            pcntl_async_signals(false);
        }
        $this->before = [];
        $this->wasAsync = null;
    }
}
