package io.adjourn.client;

import io.adjourn.client.internal.Millis;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.time.Instant;
import java.util.List;

/**
 * Counts of the whole queue.
 *
 * @param now the server's wall clock
 * @param uptime how long the node runs
 * @param connections connections
 * @param sessions sessions
 * @param waiting long polls, and subscriptions with credit
 * @param appliedIndex the last applied entry of the log
 * @param term the Raft term
 * @param stateHash 16 bytes, equal on all healthy nodes at the same index
 * @param totals over all topics, removed ones included
 * @param topics by topic, sorted by name
 * @param stages where the time of the answering node goes; none from a server that does not know them
 */
public record QueueStats(Instant now, Duration uptime, long connections, long sessions, long waiting, long appliedIndex, long term,
        byte[] stateHash, Totals totals, List<TopicInfo> topics, List<StageInfo> stages) {
    static QueueStats of(Response.QueueStats s) {
        return new QueueStats(Millis.instant(s.now()), Millis.duration(s.uptimeMs()), Integer.toUnsignedLong(s.connections()),
                Integer.toUnsignedLong(s.sessions()), Integer.toUnsignedLong(s.waiting()), s.appliedIndex(), s.term(), s.stateHash(),
                Totals.of(s.totals()), s.topics().stream().map(TopicInfo::of).toList(),
                s.stages().stream().map(StageInfo::of).toList());
    }
}
