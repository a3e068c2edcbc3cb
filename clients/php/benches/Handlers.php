<?php

declare(strict_types=1);

namespace Adjourn\Benches;

/** Handlers at the same time are processes: PHP has no threads. */
final class Handlers
{
    /** Ends when all have ended. */
    public static function run(int $handlers, \Closure $work): void
    {
        $children = [];
        for (; $handlers > 0; --$handlers) {
            $child = pcntl_fork();
            if ($child === 0) {
                $work();
                exit(0);
            }
            $children[] = $child;
        }
        foreach ($children as $child) {
            pcntl_waitpid($child, $status);
            if ($status !== 0) {
                throw new \RuntimeException("A handler has ended with the status $status.");
            }
        }
    }
}
