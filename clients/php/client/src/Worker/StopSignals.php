<?php

declare(strict_types=1);

namespace Adjourn\Worker;

use Adjourn\CancelToken;
use Adjourn\Client;

/**
 * For drivers, whose frameworks own the signals: notices that the process was told to stop, beside the handlers that are there. From
 * then on each call of the client ends soon, whether a server answers or not.
 *
 * A worker may use several clients, but a process has one handler for each signal. So all instances share it: it tells each of them,
 * and calls the handler that was there before.
 */
final class StopSignals
{
    /** How long a call may take when the process is to end. */
    private const HURRY_MS = 1000;

    /** @var \WeakMap<self, true>|null all of this process */
    private static ?\WeakMap $instances = null;
    /** @var array<int, \Closure> the shared handlers, by signal */
    private static array $handlers = [];

    private CancelToken $stop;

    public function __construct(private readonly Client $client)
    {
        $this->stop = new CancelToken();
        self::$instances ??= new \WeakMap();
        self::$instances[$this] = true;
    }

    /** Call it before each wait: a framework sets its handlers when its worker begins. The token is cancelled when a signal comes. */
    public function watch(): CancelToken
    {
        if (function_exists('pcntl_signal')) {
            foreach ([SIGTERM, SIGINT, SIGQUIT] as $signal) {
                self::join($signal, pcntl_signal_get_handler($signal));
            }
        }

        return $this->stop;
    }

    public function haveCome(): bool
    {
        return $this->stop->isCancelled();
    }

    private static function join(int $signal, mixed $handler): void
    {
        if (!is_callable($handler) || $handler === (self::$handlers[$signal] ?? null)) {
            return;
        }
        // The framework has set its own handler: another worker begins.
        foreach (self::$instances as $instance => $_) {
            $instance->beginAnew();
        }
        self::$handlers[$signal] = static function (int $signal, mixed $info = null) use ($handler): void {
            foreach (self::$instances as $instance => $_) {
                $instance->stopSoon();
            }
            $handler($signal, $info);
        };
        pcntl_async_signals(true);
        pcntl_signal($signal, self::$handlers[$signal]);
    }

    private function beginAnew(): void
    {
        $this->stop = new CancelToken();
        $this->client->session()->hurry(null);
    }

    private function stopSoon(): void
    {
        $this->stop->cancel();
        $this->client->session()->hurry(self::HURRY_MS);
    }
}
