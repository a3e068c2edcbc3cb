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
}
