<?php

declare(strict_types=1);

namespace Adjourn\Harness;

use Adjourn\GroupReport;
use Adjourn\U64;
use Adjourn\Why;
use Adjourn\WhyReason;

/** The commands about groups, and about what keeps jobs from running. */
trait GroupCommands
{
    private function do_group_set(array $c): array
    {
        $this->client($c)->setGroup($c['topic'], $c['group'], $c['weight'] ?? null, $c['paused'] ?? null);

        return [];
    }

    private function do_group_list(array $c): array
    {
        return ['groups' => array_map(
            static fn (GroupReport $group): array => [
                'name' => $group->name, 'ready' => U64::toString($group->ready), 'reserved' => U64::toString($group->reserved),
                'weight' => $group->weight, 'paused' => $group->isPaused, 'hold' => self::choiceName($group->hold ?? Why::Next),
            ],
            iterator_to_array($this->client($c)->groups($c['topic'], $c['prefix'] ?? ''), false),
        )];
    }

    private function do_why(array $c): array
    {
        return self::reasons($this->client($c)->why(self::ref($c)));
    }

    private function do_topic_why(array $c): array
    {
        return self::reasons($this->client($c)->whyTopic($c['topic'], $c['group'] ?? null));
    }

    /** @param list<WhyReason> $reasons */
    private static function reasons(array $reasons): array
    {
        return ['reasons' => array_map(static fn (WhyReason $reason): array => [
            'why' => self::choiceName($reason->why), 'jobs' => U64::toString($reason->jobs), 'until_ms' => U64::toString($reason->untilMs ?? 0),
        ], $reasons)];
    }
}
