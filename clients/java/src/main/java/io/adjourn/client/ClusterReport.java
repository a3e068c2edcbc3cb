package io.adjourn.client;

import io.adjourn.client.internal.wire.Choice;
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
        /** It receives the log and does not vote. */
        LEARNER,
        /** It votes, and its disk counts. */
        VOTER,
        /** A voter that leads. */
        LEADER,
        /** A role of a newer server. */
        UNKNOWN;

        static Role of(int number) {
            return switch (number) {
                case Choice.Role.LEARNER -> LEARNER;
                case Choice.Role.VOTER -> VOTER;
                case Choice.Role.LEADER -> LEADER;
                default -> UNKNOWN;
            };
        }
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
        static Member of(Response.Node m) {
            return new Member(m.node(), Role.of(m.role()), m.isMarkedConnected(), known(m.isMarkedMatched(), m.matched()),
                    known(m.isMarkedApplied(), m.applied()), known(m.isMarkedAhead(), m.aheadMs()), m.audited(),
                    m.isMarkedCompared() ? m.isMarkedSameState() : null, m.peerAddress(), m.clientAddress());
        }

        private static OptionalLong known(boolean isKnown, long value) {
            return isKnown ? OptionalLong.of(value) : OptionalLong.empty();
        }
    }

    static ClusterReport of(Response.ClusterReport r) {
        return new ClusterReport(r.node(), r.clusterId(), r.leader(), r.term(), r.last(), r.commit(),
                Integer.toUnsignedLong(r.featureLevel()), r.members().stream().map(Member::of).toList());
    }
}
