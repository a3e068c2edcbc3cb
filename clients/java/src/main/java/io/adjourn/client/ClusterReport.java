package io.adjourn.client;

import io.adjourn.client.internal.wire.Response;
import java.util.List;
import java.util.OptionalLong;

/**
 * The cluster as one node sees it.
 *
 * @param node the node that reports
 * @param clusterId 16 bytes
 * @param leader the leader; 0 for none
 * @param term the Raft term
 * @param last the last entry in its log
 * @param commit the last committed entry that it knows
 * @param featureLevel what all members support
 * @param members the voters, then the learners
 */
public record ClusterReport(long node, byte[] clusterId, long leader, long term, long last, long commit, long featureLevel,
        List<Member> members) {
    /** What a member does. */
    public enum Role {
        LEARNER, VOTER, LEADER, UNKNOWN
    }

    /**
     * One member. Values that the reporting node does not know are empty.
     *
     * @param node its number
     * @param role what it does
     * @param isConnected whether the reporting node is connected to it, or is it
     * @param matched the last entry that it has, durable
     * @param applied the last entry that it applied
     * @param aheadMs how far its wall clock is ahead
     * @param audited the newest entry after which its state was compared
     * @param sameState whether the states were the same; {@code null} if that is not known
     * @param peerAddress its address for other members
     * @param clientAddress its address for clients; empty if unknown
     */
    public record Member(long node, Role role, boolean isConnected, OptionalLong matched, OptionalLong applied, OptionalLong aheadMs,
            long audited, Boolean sameState, String peerAddress, String clientAddress) {
        static Member of(Response.ClusterMember m) {
            return new Member(m.node(), Role.values()[Math.min(m.role(), Role.UNKNOWN.ordinal())], (m.marks() & 1) != 0,
                    known(m, 1, m.matched()), known(m, 2, m.applied()), known(m, 3, m.aheadMs()), m.audited(),
                    (m.marks() & 0x10) == 0 ? null : (m.marks() & 0x20) != 0, m.peerAddress(), m.clientAddress());
        }

        private static OptionalLong known(Response.ClusterMember member, int bit, long value) {
            return (member.marks() >> bit & 1) != 0 ? OptionalLong.of(value) : OptionalLong.empty();
        }
    }

    static ClusterReport of(Response.ClusterReport r) {
        return new ClusterReport(r.node(), r.clusterId(), r.leader(), r.term(), r.last(), r.commit(),
                Integer.toUnsignedLong(r.featureLevel()), r.members().stream().map(Member::of).toList());
    }
}
