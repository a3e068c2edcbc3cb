<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;

/** Whom a client believes that speaks TLS, and what it shows. Files are PEM. */
final readonly class Tls
{
    /**
     * @param string|null $ca the CAs to believe; null: those of the system
     * @param string|null $certificate shown to a server that asks for one, followed by those between it and its CA
     * @param string|null $key of the certificate
     */
    public function __construct(
        public ?string $ca = null,
        public ?string $certificate = null,
        public ?string $key = null,
    ) {
        if (($certificate === null) !== ($key === null)) {
            throw new UsageError('A certificate needs its key, and a key its certificate.');
        }
        foreach (array_filter([$ca, $certificate, $key], is_string(...)) as $file) {
            if (!is_file($file) || !is_readable($file)) {
                throw new UsageError("$file cannot be read.");
            }
        }
    }

    /** From a configuration, in which an empty name stands for none; null if it names no file. */
    public static function ofFiles(?string $ca, ?string $certificate, ?string $key): ?self
    {
        $files = array_map(static fn (?string $file): ?string => $file === '' ? null : $file, [$ca, $certificate, $key]);

        return array_filter($files) === [] ? null : new self(...$files);
    }

    /**
     * What `stream_context_create` takes for a connection to this host, under `ssl`. The certificate must be for the host.
     *
     * @return array<string, mixed>
     */
    public function contextOptions(string $host): array
    {
        $host = trim($host, '[]');

        return array_filter([
            'verify_peer' => true,
            'verify_peer_name' => true,
            'peer_name' => $host,
            // TLS has no place for an IP address there.
            'SNI_enabled' => filter_var($host, FILTER_VALIDATE_IP) === false,
            'cafile' => $this->ca,
            'local_cert' => $this->certificate,
            'local_pk' => $this->key,
        ], static fn (mixed $value): bool => $value !== null);
    }
}
