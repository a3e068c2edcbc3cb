<?php

// Generated from schema/*.toml by `make generate`. Do not edit.

declare(strict_types=1);

namespace Adjourn\Protocol;

use function strlen;
use function substr;

/**
 * Frames about the cluster.
 *
 * @phpstan-type Node array{
 *     node: int, // Its number.
 *     role: int, // What it is. A newer server may have more roles: show them as unknown.
 *     marks: int, // What is so, and what is known.
 *     matched: int, // The last entry that it has, durable. Only the leader knows it of other members.
 *     applied: int, // The last entry that it reported as applied.
 *     ahead_ms: int, // How far its wall clock is ahead of the reporting node's; negative if it is behind.
 *     audited: int, // Members compare the hashes of their states after certain entries: the newest of these that it reported.
 *     peer_address: string, // The address for other members; empty if unknown.
 *     client_address: string, // The address for clients; empty if unknown.
 * }
 *
 * @phpstan-type GroupState array{
 *     ready: int, // Its jobs that wait for a consumer.
 *     reserved: int, // Its jobs that a consumer has.
 *     oldest_ms: int, // For how long the next of them has been ready; 0 if none is.
 *     until_ms: int, // Until when hold lasts, on the wall clock; 0 if that is not known.
 *     weight: int, // How many jobs it gives at a turn.
 *     hold: int, // What holds it back.
 *     paused: int, // 1 if an operator paused it.
 *     name: string, // Its name.
 * }
 *
 * @phpstan-type Reason array{
 *     why: int, // The reason.
 *     since_ms: int, // When it began, on the wall clock; 0 if that is not known.
 *     until_ms: int, // When it ends, on the wall clock; 0 if that is not known.
 *     jobs: int, // With `behind`: how many jobs come first; with a limit of leases: how many there are; else 0.
 *     text: string, // One sentence for a person. It may change between versions: decide by the reason.
 * }
 */
final class ClusterFrames
{
    /** The reporting node is connected to it, or is it. */
    public const NODE_MARKS_CONNECTED = 1;
    /** *matched* is known. */
    public const NODE_MARKS_MATCHED = 2;
    /** *applied* is known. */
    public const NODE_MARKS_APPLIED = 4;
    /** *ahead_ms* is known. */
    public const NODE_MARKS_AHEAD = 8;
    /** The comparison of states is known. */
    public const NODE_MARKS_COMPARED = 16;
    /** The states are the same. */
    public const NODE_MARKS_SAME_STATE = 32;
    /** It stays as it is. */
    public const PAUSE_KEEP = 0;
    /** It is paused. */
    public const PAUSE_PAUSE = 1;
    /** It is resumed. */
    public const PAUSE_RESUME = 2;
    /** Nothing holds it back. */
    public const WHY_NEXT = 0;
    /** Its due time has not come. */
    public const WHY_DELAYED = 1;
    /** The topic is paused. */
    public const WHY_TOPIC_PAUSED = 2;
    /** The topic has as many leases as it may. */
    public const WHY_TOPIC_LEASES = 3;
    /** The topic has used up its rate. */
    public const WHY_TOPIC_RATE = 4;
    /** Its group is paused. */
    public const WHY_GROUP_PAUSED = 5;
    /** Its group has as many leases as it may. */
    public const WHY_GROUP_LEASES = 6;
    /** Its group has used up its rate. */
    public const WHY_GROUP_RATE = 7;
    /** A job of its group is reserved, and they go one at a time. */
    public const WHY_GROUP_RESERVED = 8;
    /** A job of its group waits for its next attempt, and they go one at a time. */
    public const WHY_GROUP_RETRY = 9;
    /** A job of its group is buried, and they go one at a time. */
    public const WHY_GROUP_BURIED = 10;
    /** Jobs of its topic, or of its group, come first. */
    public const WHY_BEHIND = 11;
    /** No consumer waits on the topic. */
    public const WHY_NO_CONSUMER = 12;
    /** The calls of the topic are paused. */
    public const WHY_CALL_BACK_PAUSED = 13;
    /** A consumer has it. */
    public const WHY_RESERVED = 14;
    /** It is buried. */
    public const WHY_BURIED = 15;
    /** It is finished, and remembered. */
    public const WHY_FINISHED = 16;
    /** No job is ready. */
    public const WHY_EMPTY = 17;
    /** The destination of the topic's calls failed: calls are suspended. */
    public const WHY_CALL_BACK_SUSPENDED = 18;

    /**
     * CLUSTER_ADD: Adds the node that listens for its peers at an address; it votes when it has caught up.
     *
     * @param array{
     *     address: string, // Where it listens for its peers, as `host:port`.
     * } $f
     */
    public static function encodeClusterAdd(array $f): string
    {
        if (strlen($f['address']) >> 8 !== 0) {
            throw Codec::outOfRange(['address' => [strlen($f['address']), 8]]);
        }

        return pack('C', strlen($f['address']))
            . $f['address'];
    }

    /**
     * CLUSTER_REMOVE: Removes a member. It cannot come back under its number.
     *
     * @param array{
     *     node: int, // The member's number.
     * } $f
     */
    public static function encodeClusterRemove(array $f): string
    {
        return pack('P', $f['node']);
    }

    /**
     * CLUSTER_TRANSFER: Hands leadership to another member.
     *
     * @param array{
     *     node: int, // To which; 0 leaves it to the leader.
     * } $f
     */
    public static function encodeClusterTransfer(array $f): string
    {
        return pack('P', $f['node']);
    }

    /**
     * GROUP_SET: Changes the settings of one group. With weight 1 and not paused it has none.
     *
     * @param array{
     *     weight: int, // How many jobs it gives at a turn, 1 to `GROUP_WEIGHT_MAX`; 0: as before.
     *     pause: int, // Whether it is paused or resumed.
     *     topic: string, // Its topic.
     *     group: string, // Its name.
     * } $f
     */
    public static function encodeGroupSet(array $f): string
    {
        if ((($f['pause'] | strlen($f['topic']) | strlen($f['group'])) >> 8 | $f['weight'] >> 32) !== 0) {
            throw Codec::outOfRange([
                'weight' => [$f['weight'], 32],
                'pause' => [$f['pause'], 8],
                'topic' => [strlen($f['topic']), 8],
                'group' => [strlen($f['group']), 8],
            ]);
        }

        return pack('VCC', $f['weight'], $f['pause'], strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['group']))
            . $f['group'];
    }

    /**
     * GROUP_LIST: Lists the groups of a topic that have a job that is ready or reserved, or settings, a page at a time, by name.
     *
     * @param array{
     *     groups_max: int, // 1 to `GROUPS_LISTED_MAX`.
     *     topic: string, // Their topic.
     *     after: string, // Only those with names after this one; empty for the first page, and then what the page before says.
     *     prefix: string, // Only those whose names begin like this.
     * } $f
     */
    public static function encodeGroupList(array $f): string
    {
        if (((strlen($f['topic']) | strlen($f['after']) | strlen($f['prefix'])) >> 8 | $f['groups_max'] >> 32) !== 0) {
            throw Codec::outOfRange([
                'groups_max' => [$f['groups_max'], 32],
                'topic' => [strlen($f['topic']), 8],
                'after' => [strlen($f['after']), 8],
                'prefix' => [strlen($f['prefix']), 8],
            ]);
        }

        return pack('VC', $f['groups_max'], strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['after']))
            . $f['after']
            . pack('C', strlen($f['prefix']))
            . $f['prefix'];
    }

    /**
     * WHY: Says why a job is not running.
     *
     * @param array{
     *     ref: array{job: int}|array{topic: string, key: string}, // The job.
     * } $f
     */
    public static function encodeWhy(array $f): string
    {
        return self::encodeReference($f['ref']);
    }

    /**
     * TOPIC_WHY: Says why a topic, or one of its groups, gives no job.
     *
     * @param array{
     *     topic: string, // The topic.
     *     group: string, // The group; empty for the whole topic.
     * } $f
     */
    public static function encodeTopicWhy(array $f): string
    {
        if ((strlen($f['topic']) | strlen($f['group'])) >> 8 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($f['topic']), 8], 'group' => [strlen($f['group']), 8]]);
        }

        return pack('C', strlen($f['topic']))
            . $f['topic']
            . pack('C', strlen($f['group']))
            . $f['group'];
    }

    /**
     * CLUSTER_REPORT: The members of the cluster, as one node sees them.
     *
     * @return array{
     *     node: int, // The node that reports.
     *     cluster_id: string, // As in WELCOME.
     *     leader: int, // The leader, as far as it knows; 0 for none.
     *     term: int, // The Raft term, which grows with each election.
     *     last: int, // The last entry in its log.
     *     commit: int, // The last entry that it knows to be committed.
     *     feature_level: int, // What all members support; it rises when all are upgraded.
     *     members: list<Node>, // The voters, then the learners. Empty on a node that waits to be added.
     * }
     */
    public static function decodeClusterReport(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Pnode/a16cluster_id/Pleader/Pterm/Plast/Pcommit/Vfeature_level', 60, $frame, $at);
        $f['members'] = self::decodeListOfNode($frame, $at);

        return $f;
    }

    /**
     * GROUPS: A page of groups.
     *
     * @return array{
     *     after: string, // Where the next page begins; empty on the last one.
     *     groups: list<GroupState>, // The groups, by name.
     * }
     */
    public static function decodeGroups(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = Codec::fixed('Cafter', 1, $frame, $at);
        $f['after'] = Codec::text($frame, $at, $f['after']);
        $f['groups'] = self::decodeListOfGroupState($frame, $at);

        return $f;
    }

    /**
     * REASONS: Why a job, a topic or a group gives nothing to a consumer.
     *
     * @return array{
     *     reasons: list<Reason>, // The reasons, the most important one first; never empty.
     * }
     */
    public static function decodeReasons(string $frame): array
    {
        $at = Codec::HEAD_BYTES;
        $f = [];
        $f['reasons'] = self::decodeListOfReason($frame, $at);

        return $f;
    }

    /** @param array{job: int}|array{topic: string, key: string} $ref */
    private static function encodeReference(array $ref): string
    {
        if (isset($ref['job'])) {
            return pack('CP', 0, $ref['job']);
        }
        if (strlen($ref['topic']) >> 8 !== 0 || strlen($ref['key']) >> 16 !== 0) {
            throw Codec::outOfRange(['topic' => [strlen($ref['topic']), 8], 'key' => [strlen($ref['key']), 16]]);
        }

        return pack('CC', 1, strlen($ref['topic'])) . $ref['topic'] . pack('v', strlen($ref['key'])) . $ref['key'];
    }

    /**
     * One member of the cluster, as one node sees it. Unknown values are 0.
     *
     * @return list<Node>
     */
    private static function decodeListOfNode(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 44);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pnode/Crole/Cmarks/Pmatched/Papplied/Pahead_ms/Paudited/Cpeer_address/Cclient_address', $frame, $at);
            $at += $fixed;
            if ($item['peer_address'] + $item['client_address'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['peer_address'];
            $item['peer_address'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['peer_address']) !== 1) {
                throw Malformed::noText();
            }
            $bytes = $item['client_address'];
            $item['client_address'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['client_address']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * Where a group stands.
     *
     * @return list<GroupState>
     */
    private static function decodeListOfGroupState(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 39);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Pready/Preserved/Poldest_ms/Puntil_ms/Vweight/Chold/Cpaused/Cname', $frame, $at);
            $at += $fixed;
            if ($item['name'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['name'];
            $item['name'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['name']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }

    /**
     * One reason why a job, a topic or a group gives nothing now.
     *
     * @return list<Reason>
     */
    private static function decodeListOfReason(string $frame, int &$at): array
    {
        [$fixed, $count] = Codec::listHead($frame, $at, 27);
        $end = strlen($frame);
        for ($items = []; $count > 0; --$count) {
            if ($fixed > $end - $at) {
                throw Malformed::cutOff();
            }
            $item = unpack('Cwhy/Psince_ms/Puntil_ms/Pjobs/vtext', $frame, $at);
            $at += $fixed;
            if ($item['text'] > $end - $at) {
                throw Malformed::cutOff();
            }
            $bytes = $item['text'];
            $item['text'] = substr($frame, $at, $bytes);
            $at += $bytes;
            if ($bytes !== 0 && preg_match('//u', $item['text']) !== 1) {
                throw Malformed::noText();
            }
            $items[] = $item;
        }

        return $items;
    }
}
