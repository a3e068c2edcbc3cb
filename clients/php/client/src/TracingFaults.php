<?php

declare(strict_types=1);

namespace Adjourn;

use Psr\Log\LoggerInterface;

/** @internal A fault in tracing changes nothing else: the first is logged, and what is not traced goes on. */
final class TracingFaults
{
    private bool $isLogged = false;

    public function __construct(private readonly LoggerInterface $logger)
    {
    }

    /**
     * @template T
     * @param \Closure(): T $step of tracing, never what it surrounds
     * @param T $else what counts if the step fails
     * @return T
     */
    public function guard(\Closure $step, mixed $else = null): mixed
    {
        try {
            return $step();
        } catch (\Throwable $fault) {
            $this->log($fault);

            return $else;
        }
    }

    public function log(\Throwable $fault): void
    {
        if (!$this->isLogged) {
            $this->isLogged = true;
            $this->logger->warning("adjourn: tracing failed; more faults of it are not logged: {$fault->getMessage()}", ['exception' => $fault]);
        }
    }
}
