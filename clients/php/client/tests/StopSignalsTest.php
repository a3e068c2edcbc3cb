<?php

declare(strict_types=1);

namespace Adjourn\Tests;

use Adjourn\Client;
use Adjourn\Error\AdjournError;
use Adjourn\Options;
use Adjourn\Worker\StopSignals;
use PHPUnit\Framework\TestCase;

/** How the client of a framework ends when the framework is told to stop. */
final class StopSignalsTest extends TestCase
{
    public function testASignalEndsTheWaitForASilentServerAndEachLaterCallSoon(): void
    {
        $server = new ScriptedServer(static function (Listener $listener): void {
            $peer = $listener->accept();
            $peer->greet();
            while (($request = $peer->next()) !== null) {
                $listener->report($request->opcode->name);
            }
        });
        [$child, $said] = Processes::fork(static function (callable $say) use ($server): void {
            $hears = false;
            pcntl_signal(SIGTERM, static function () use (&$hears): void {
                $hears = true;
            });
            // Without the signal, each of these calls would wait for an hour.
            $client = new Client(new Options($server->address(), requestTimeoutMs: 3_600_000));
            $signals = new StopSignals($client);
            $say('waits');
            $jobs = $client->reserve('t', 3_600_000, cancel: $signals->watch());
            $say([$jobs, $hears, $signals->haveCome()]);
            try {
                $client->push('t', 'x');
            } catch (AdjournError $error) {
                $say($error->mayBeApplied);
            }
        });
        self::assertSame('waits', Processes::said($said));
        self::assertSame('Reserve', $server->report());
        posix_kill($child, SIGTERM);
        self::assertSame([[], true, true], Processes::said($said));
        self::assertTrue(Processes::said($said));
        Processes::wait($child);
    }

    public function testClientsOfOneWorkerShareAHandlerAndAllRememberASignal(): void
    {
        $all = [new StopSignals(new Client('127.0.0.1:1')), new StopSignals(new Client('127.0.0.1:1'))];
        $watchAll = static fn (): array => array_map(static fn (StopSignals $one): bool => $one->watch()->isCancelled(), $all);
        $this->withItsOwnHandlers(static function () use ($all, $watchAll): void {
            $heard = 0;
            pcntl_signal(SIGTERM, static function () use (&$heard): void {
                ++$heard;
            });
            $watchAll();
            $shared = pcntl_signal_get_handler(SIGTERM);
            $bytes = memory_get_usage();
            for ($n = 0; $n < 1000; ++$n) {
                $watchAll();
            }
            $grownBytes = memory_get_usage() - $bytes;
            self::assertLessThan(10_000, $grownBytes);
            self::assertSame($shared, pcntl_signal_get_handler(SIGTERM));
            posix_kill(getmypid(), SIGTERM);
            self::assertSame(1, $heard);
            self::assertSame([[true, true], [true, true]], [$watchAll(), $watchAll()]);
            self::assertSame([true, true], array_map(static fn (StopSignals $one): bool => $one->haveCome(), $all));
            // The next worker of this process sets its handler.
            pcntl_signal(SIGTERM, static fn () => null);
            self::assertSame([[false, false], [false, false]], [$watchAll(), $watchAll()]);
        });
    }

    public function testTheSharedHandlerKeepsNoInstanceAlive(): void
    {
        $this->withItsOwnHandlers(static function (): void {
            $heard = 0;
            pcntl_signal(SIGTERM, static function () use (&$heard): void {
                ++$heard;
            });
            $signals = new StopSignals(new Client('127.0.0.1:1'));
            $signals->watch();
            $alive = \WeakReference::create($signals);
            unset($signals);
            gc_collect_cycles();
            self::assertNull($alive->get());
            posix_kill(getmypid(), SIGTERM);
            self::assertSame(1, $heard);
        });
    }

    public function testAnotherWorkerOfTheSameProcessIsNotToldToStop(): void
    {
        $signals = new StopSignals(new Client('127.0.0.1:1'));
        $this->withItsOwnHandlers(static function () use ($signals): void {
            self::assertSame($signals->watch(), $signals->watch(), 'Nobody handles signals: they end the process.');
            $heard = 0;
            $handler = static function () use (&$heard): void {
                ++$heard;
            };
            pcntl_signal(SIGTERM, $handler);
            $first = $signals->watch();
            posix_kill(getmypid(), SIGTERM);
            self::assertSame([1, true, true], [$heard, $first->isCancelled(), $signals->watch()->isCancelled()]);
            pcntl_signal(SIGTERM, $handler);
            self::assertFalse($signals->watch()->isCancelled());
        });
    }

    private function withItsOwnHandlers(\Closure $test): void
    {
        $before = pcntl_signal_get_handler(SIGTERM);
        $asynchronous = pcntl_async_signals();
        try {
            $test();
        } finally {
            pcntl_signal(SIGTERM, $before);
            pcntl_async_signals($asynchronous);
        }
    }
}
