<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\Client;
use Adjourn\NoTracing;
use Adjourn\Tracing;
use Psr\Log\LoggerInterface;
use Psr\Log\NullLogger;
use Symfony\Component\Messenger\Transport\Receiver\KeepaliveReceiverInterface;
use Symfony\Component\Messenger\Transport\Serialization\SerializerInterface;
use Symfony\Component\Messenger\Transport\TransportFactoryInterface;
use Symfony\Component\Messenger\Transport\TransportInterface;

/** Makes transports for `adjourn://` and `adjourns://` DSNs. Tag it with `messenger.transport_factory`. */
final class AdjournTransportFactory implements TransportFactoryInterface
{
    public function __construct(
        private readonly LoggerInterface $logger = new NullLogger(),
        private readonly Tracing $tracing = new NoTracing(),
    ) {
    }

    public function createTransport(#[\SensitiveParameter] string $dsn, array $options, SerializerInterface $serializer): TransportInterface
    {
        $parsed = Dsn::parse($dsn, $options, $this->logger, $this->tracing);
        // Symfony has keepalives from 7.2 on.
        $class = interface_exists(KeepaliveReceiverInterface::class) ? KeepaliveTransport::class : AdjournTransport::class;

        return new $class(new Client($parsed->options), $serializer, $parsed->topic, $parsed->ttrMs, $parsed->waitMs, $this->logger);
    }

    public function supports(#[\SensitiveParameter] string $dsn, array $options): bool
    {
        return preg_match('~^adjourns?://~', $dsn) === 1;
    }
}
