<?php

declare(strict_types=1);

namespace Adjourn;

use Adjourn\Error\UsageError;
use Adjourn\Protocol\ClusterFrames;
use Adjourn\Protocol\Opcode;

/** @internal The calls of a Client about groups, and about what keeps jobs from running. */
trait GroupCalls
{
    /**
     * Changes the settings of one group of a topic; null leaves a setting as it is. Name at least one of them.
     *
     * @param int|null $weight how many jobs the group gives at a turn, 1 to 1,000; 1 unless it is set
     * @param bool|null $paused true: it gives no jobs until it is resumed
     * @throws Error\Server\NotFound if there is no such topic
     * @throws Error\Server\WrongState if its policy has no setting of groups
     * @throws Error\Server\Quota if too many groups of the topic have settings
     */
    public function setGroup(string $topic, string $group, ?int $weight = null, ?bool $paused = null): void
    {
        if ($weight === null && $paused === null) {
            throw new UsageError('setGroup changes at least one setting: name a weight, or paused.');
        }
        if ($weight !== null && ($weight < 1 || $weight > Limit::GROUP_WEIGHT_MAX)) {
            throw new UsageError('The weight of a group goes from 1 to 1,000.');
        }
        $this->session->call(Opcode::GroupSet, [
            'weight' => $weight ?? 0,
            'pause' => match ($paused) {
                null => ClusterFrames::PAUSE_KEEP,
                true => ClusterFrames::PAUSE_PAUSE,
                false => ClusterFrames::PAUSE_RESUME,
            },
            'topic' => Topic::check($topic),
            'group' => Group::check($group),
        ]);
    }

    /**
     * The groups of a topic that have a ready or a reserved job, or settings, by name, fetched page by page while the caller iterates.
     *
     * @param string $prefix only those whose names begin like this
     * @return iterable<GroupReport>
     * @throws Error\Server\NotFound if there is no such topic
     */
    public function groups(string $topic, string $prefix = ''): iterable
    {
        $fields = ['groups_max' => Limit::GROUPS_LISTED_MAX, 'topic' => Topic::check($topic), 'after' => '', 'prefix' => $prefix];
        do {
            // A page may be empty, and not the last one.
            $page = $this->session->call(Opcode::GroupList, $fields);
            foreach ($page['groups'] as $item) {
                yield GroupReport::of($item);
            }
            $fields['after'] = $page['after'];
        } while ($page['after'] !== '');
    }

    /**
     * Why a job is not running.
     *
     * @return non-empty-list<WhyReason> the most important one comes first
     * @throws Error\Server\NotFound
     */
    public function why(int|JobRef $job): array
    {
        return array_map(WhyReason::of(...), $this->session->call(Opcode::Why, self::ref($job))['reasons']);
    }

    /**
     * Why a topic, or one of its groups, gives no job.
     *
     * @param string|null $group null: the whole topic
     * @return non-empty-list<WhyReason> the most important one comes first
     * @throws Error\Server\NotFound if there is no such topic
     */
    public function whyTopic(string $topic, ?string $group = null): array
    {
        $fields = ['topic' => Topic::check($topic), 'group' => $group === null ? '' : Group::check($group)];

        return array_map(WhyReason::of(...), $this->session->call(Opcode::TopicWhy, $fields)['reasons']);
    }
}
