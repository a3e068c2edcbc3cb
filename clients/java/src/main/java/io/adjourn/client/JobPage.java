package io.adjourn.client;

import java.util.List;

/**
 * A page of a list.
 *
 * @param jobs its jobs; maybe none, although others follow
 * @param cursor where the next page begins; empty after the last one
 */
public record JobPage(List<JobInfo> jobs, byte[] cursor) {
    /** Whether this was the last page. */
    public boolean isLast() {
        return cursor.length == 0;
    }
}
