<?php

declare(strict_types=1);

namespace Adjourn;

/** The rules of a topic's name. */
final class Topic
{
    public static function check(string $name): string
    {
        if (preg_match('~^[A-Za-z0-9._:/+;$()][A-Za-z0-9._:/+;$()-]{0,199}$~D', $name) !== 1) {
            throw new Error\UsageError("\"$name\" is no topic: 1 to 200 of A-Z a-z 0-9 . _ : / - + ; \$ ( ), not - first.");
        }

        return $name;
    }

    /**
     * The fields `topics` and `weights` of RESERVE and SUBSCRIBE.
     *
     * @param string|list<string>|array<string, int> $topics one topic, several, or topics with their weights
     * @return array{topics: list<string>, weights: list<int>}
     */
    public static function fields(string|array $topics): array
    {
        $topics = is_string($topics) ? [$topics] : $topics;
        if ($topics === [] || count($topics) > Limit::RESERVE_TOPICS_MAX) {
            throw new Error\UsageError('Name 1 to ' . Limit::RESERVE_TOPICS_MAX . ' topics.');
        }
        $isWeighted = !array_is_list($topics);
        $names = $isWeighted ? array_map(strval(...), array_keys($topics)) : $topics;
        $weights = $isWeighted ? array_values($topics) : [];
        foreach ($weights as $weight) {
            if (!is_int($weight) || $weight < 1 || $weight > 0xFFFF) {
                throw new Error\UsageError('A weight goes from 1 to 65,535.');
            }
        }

        return ['topics' => array_map(self::check(...), $names), 'weights' => $weights];
    }
}
