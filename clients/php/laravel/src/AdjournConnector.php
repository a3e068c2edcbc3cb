<?php

declare(strict_types=1);

namespace Adjourn\Laravel;

use Adjourn\Client;
use Adjourn\NoTracing;
use Adjourn\Options;
use Adjourn\Tls;
use Adjourn\Tracing;
use Illuminate\Queue\Connectors\ConnectorInterface;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;

/** Makes queues from `config/queue.php`. */
class AdjournConnector implements ConnectorInterface
{
    public function __construct(
        private readonly LoggerInterface $logger = new NullLogger(),
        private readonly Tracing $tracing = new NoTracing(),
    ) {
    }

    public function connect(array $config)
    {
        $client = new Client(new Options(
            server: $config['server'] ?? 'adjourn://127.0.0.1:7440',
            token: $config['token'] ?? '',
            clientName: $config['client_name'] ?? 'laravel',
            connectTimeoutMs: (int) (1000 * ($config['connect_timeout'] ?? 5)),
            requestTimeoutMs: (int) (1000 * ($config['request_timeout'] ?? 30)),
            logger: $this->logger,
            tracing: $this->tracing,
            tls: Tls::ofFiles($config['tls_ca'] ?? null, $config['tls_cert'] ?? null, $config['tls_key'] ?? null),
        ));

        return new AdjournQueue(
            $client,
            $this->logger,
            $config['queue'] ?? 'default',
            (int) ($config['retry_after'] ?? 90),
            (int) (1000 * ($config['block_for'] ?? 0)),
            (bool) ($config['after_commit'] ?? false),
        );
    }
}
