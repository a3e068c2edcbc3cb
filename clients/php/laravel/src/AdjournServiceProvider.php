<?php

declare(strict_types=1);

namespace Adjourn\Laravel;

use Adjourn\NoTracing;
use Adjourn\Tracing;
use Illuminate\Support\ServiceProvider;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;

/** Adds the driver `adjourn`. Laravel finds it by itself. */
class AdjournServiceProvider extends ServiceProvider
{
    public function register(): void
    {
        $this->callAfterResolving('queue', function ($manager): void {
            $manager->addConnector('adjourn', fn (): AdjournConnector => new AdjournConnector(
                $this->app->bound('log') ? $this->app->make(LoggerInterface::class) : new NullLogger(),
                $this->app->bound(Tracing::class) ? $this->app->make(Tracing::class) : new NoTracing(),
            ));
        });
    }
}
