<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Body\BodyCodec;
use Adjourn\Body\JsonCodec;
use Adjourn\Connection\Address;
use Adjourn\Connection\Servers;
use Adjourn\Error\UsageError;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;

/** How a client connects. */
final readonly class Options
{
    /** The longest heartbeat that a server grants: a handler of PHP blocks the client for as long as it runs. */
    private const HEARTBEAT_MS = Limit::HEARTBEAT_MS_MAX;

    /** @var non-empty-list<Address> */
    public array $addresses;
    /** null: plain connections */
    public ?Tls $tls;
    public int $heartbeatMs;
    public Tracing $tracing;

    /**
     * @param string|list<string> $server `adjourn://host:port,host:port`, `adjourns://` for TLS, `host:port`, or a list of these. The scheme of the
     *     first holds for all
     * @param int $connectTimeoutMs the longest time to connect to one address and be welcomed there
     * @param bool $leasesOutlive true: a lease lasts for the job's ttr whatever happens to the connection. Leave it true
     *     unless the client can speak while a handler runs: a PHP handler that blocks for longer than the session's grace
     *     would lose its lease
     * @param Tracing $tracing surrounds each push, and each handler of a worker: `new OpenTelemetry\Tracing()`
     * @param Tls|null $tls whom to believe, and what to show, with `adjourns://`; null: the CAs of the system, and nothing
     * @param int|null $heartbeatMs null: 60,000 if leases outlive the session, else the server's
     */
    public function __construct(
        string|array $server = 'adjourn://127.0.0.1:7440',
        #[\SensitiveParameter] public string $token = '',
        public string $clientName = 'php',
        public int $connectTimeoutMs = 5000,
        public int $requestTimeoutMs = 30_000,
        public bool $leasesOutlive = true,
        ?int $heartbeatMs = null,
        public int $reconnectWaitMaxMs = 1000,
        public BodyCodec $codec = new JsonCodec(),
        public LoggerInterface $logger = new NullLogger(),
        Tracing $tracing = new NoTracing(),
        ?Tls $tls = null,
    ) {
        if ($server === []) {
            throw new UsageError('Name at least one address.');
        }
        $servers = Servers::parse($server);
        if ($tls !== null && !$servers->isSecure) {
            throw new UsageError('tls needs an address with adjourns://.');
        }
        $this->addresses = $servers->addresses;
        $this->tls = $servers->isSecure ? $tls ?? new Tls() : null;
        if (strlen($clientName) > Limit::CLIENT_NAME_BYTES_MAX || strlen($token) > Limit::TOKEN_BYTES_MAX) {
            throw new UsageError('clientName has at most 64 bytes, token at most 256.');
        }
        if ($connectTimeoutMs < 1 || $requestTimeoutMs < 1 || $reconnectWaitMaxMs < 1) {
            throw new UsageError('A time-out is at least 1 ms.');
        }
        $this->tracing = $tracing instanceof NoTracing ? $tracing : new SafeTracing($tracing, $logger);
        $this->heartbeatMs = $heartbeatMs ?? ($leasesOutlive ? self::HEARTBEAT_MS : 0);
    }
}
