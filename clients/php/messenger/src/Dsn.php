<?php

declare(strict_types=1);

namespace Adjourn\Messenger;

use Adjourn\Options;
use Adjourn\Tls;
use Adjourn\Tracing;
use Psr\Log\LoggerInterface;
use Symfony\Component\Messenger\Exception\InvalidArgumentException;

/** `adjourn://TOKEN@host:port,host:port/topic?ttr_ms=60000&wait_ms=0`; `adjourns://` for TLS */
final readonly class Dsn
{
    private const OPTIONS = [
        'topic', 'token', 'ttr_ms', 'wait_ms', 'client_name', 'transport_name', 'connect_timeout_ms', 'request_timeout_ms',
        'tls_ca', 'tls_cert', 'tls_key',
    ];

    private function __construct(
        public Options $options,
        public string $topic,
        public ?int $ttrMs,
        public int $waitMs,
    ) {
    }

    /** @param array<string, mixed> $options of the transport; those of the DSN come first */
    public static function parse(#[\SensitiveParameter] string $dsn, array $options, LoggerInterface $logger, Tracing $tracing): self
    {
        if (preg_match('~^(adjourns?://)(?:([^@/]*)@)?([^/?]*)(?:/([^?]*))?(?:\?(.*))?$~', $dsn, $m) !== 1) {
            throw new InvalidArgumentException('The DSN is not one of Adjourn: it looks like adjourn://127.0.0.1:7440/topic.');
        }
        parse_str($m[5] ?? '', $query);
        $settings = $query + $options;
        $unknown = array_diff(array_keys($settings), self::OPTIONS);
        if ($unknown !== []) {
            throw new InvalidArgumentException('Unknown options of the Adjourn transport: ' . implode(', ', $unknown) . '.');
        }
        $topic = ($m[4] ?? '') !== '' ? rawurldecode($m[4]) : $settings['topic'] ?? 'messages';

        return new self(
            new Options(
                server: $m[1] . ($m[3] === '' ? '127.0.0.1:7440' : $m[3]),
                token: $m[2] !== '' ? rawurldecode($m[2]) : $settings['token'] ?? '',
                clientName: $settings['client_name'] ?? 'messenger',
                connectTimeoutMs: (int) ($settings['connect_timeout_ms'] ?? 5000),
                requestTimeoutMs: (int) ($settings['request_timeout_ms'] ?? 30_000),
                logger: $logger,
                tracing: $tracing,
                tls: Tls::ofFiles($settings['tls_ca'] ?? null, $settings['tls_cert'] ?? null, $settings['tls_key'] ?? null),
            ),
            $topic,
            isset($settings['ttr_ms']) ? (int) $settings['ttr_ms'] : null,
            (int) ($settings['wait_ms'] ?? 0),
        );
    }
}
