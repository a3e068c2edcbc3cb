<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Protocol\ClusterFrames;

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
            ($marks & ClusterFrames::NODE_MARKS_CONNECTED) !== 0,
            ($marks & ClusterFrames::NODE_MARKS_MATCHED) !== 0 ? $f['matched'] : null,
            ($marks & ClusterFrames::NODE_MARKS_APPLIED) !== 0 ? $f['applied'] : null,
            ($marks & ClusterFrames::NODE_MARKS_AHEAD) !== 0 ? $f['ahead_ms'] : null,
            $f['audited'],
            ($marks & ClusterFrames::NODE_MARKS_COMPARED) !== 0 ? ($marks & ClusterFrames::NODE_MARKS_SAME_STATE) !== 0 : null,
            $f['peer_address'],
            $f['client_address'],
        );
    }
}
