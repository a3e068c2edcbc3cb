<?php

declare(strict_types=1);

namespace Adjourn;

/** A member of the cluster. Values that the reporting node does not know are null. */
final readonly class MemberReport
{
    public function __construct(
        public int $node,
        public MemberRole $role,
        public bool $isConnected,
        public ?int $matched,
        public ?int $applied,
        public ?int $aheadMs,
        public int $audited,
        public ?bool $hasSameState,
        public string $peerAddress,
        public string $clientAddress,
    ) {
    }

    /** @param array<string, mixed> $f */
    public static function of(array $f): self
    {
        $marks = $f['marks'];

        return new self(
            $f['node'],
            MemberRole::of($f['role']),
            ($marks & 1) !== 0,
            ($marks & 2) !== 0 ? $f['matched'] : null,
            ($marks & 4) !== 0 ? $f['applied'] : null,
            ($marks & 8) !== 0 ? $f['ahead_ms'] : null,
            $f['audited'],
            ($marks & 16) !== 0 ? ($marks & 32) !== 0 : null,
            $f['peer_address'],
            $f['client_address'],
        );
    }
}
