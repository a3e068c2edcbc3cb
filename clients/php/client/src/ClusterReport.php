<?php

declare(strict_types=1);

namespace Adjourn;

/** The cluster as one node sees it. */
final readonly class ClusterReport
{
    /** @param list<MemberReport> $members */
    public function __construct(
        public int $node,
        public string $clusterId,
        public ?int $leader,
        public int $term,
        public int $last,
        public int $commit,
        public int $featureLevel,
        public array $members,
    ) {
    }

    /** @param array<string, mixed> $f */
    public static function of(array $f): self
    {
        return new self(
            $f['node'],
            bin2hex($f['cluster_id']),
            $f['leader'] ?: null,
            $f['term'],
            $f['last'],
            $f['commit'],
            $f['feature_level'],
            array_map(MemberReport::of(...), $f['members']),
        );
    }
}
