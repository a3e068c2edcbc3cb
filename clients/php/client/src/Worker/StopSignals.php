<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\CancelToken;
use Adjourn\Client;

/**
 * For drivers, whose frameworks own the signals: notices that the process was told to stop, beside the handlers that are there. From
 * then on each call of the client ends soon, whether a server answers or not.
 */
final class StopSignals
{
    /** How long a call may take when the process is to end. */
    private const HURRY_MS = 1000;

    private CancelToken $stop;
    /** @var array<int, \Closure> */
    private array $handlers = [];

    public function __construct(private readonly Client $client)
    {
        $this->stop = new CancelToken();
    }

    /** Call it before each wait: a framework sets its handlers when its worker begins. The token is cancelled when a signal comes. */
    public function watch(): CancelToken
    {
        if (function_exists('pcntl_signal')) {
            foreach ([SIGTERM, SIGINT, SIGQUIT] as $signal) {
                $this->join($signal, pcntl_signal_get_handler($signal));
            }
        }

        return $this->stop;
    }

    public function haveCome(): bool
    {
        return $this->stop->isCancelled();
    }

    private function join(int $signal, mixed $handler): void
    {
        if (!is_callable($handler) || $handler === ($this->handlers[$signal] ?? null)) {
            return;
        }
        // Another worker begins.
        $this->stop = new CancelToken();
        $this->client->session()->hurry(null);
        $this->handlers[$signal] = function (int $signal, mixed $info = null) use ($handler): void {
            $this->stop->cancel();
            $this->client->session()->hurry(self::HURRY_MS);
            $handler($signal, $info);
        };
        pcntl_async_signals(true);
        pcntl_signal($signal, $this->handlers[$signal]);
    }
}
