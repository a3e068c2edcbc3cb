package io.adjourn.client;

import java.time.Instant;

/**
 * What a change of one job came to.
 *
 * @param job its id, unsigned
 * @param state its new state; after a delete, the state before
 * @param due when it is due
 * @param version its version after the change, unsigned; of a deleted job, before it. 0 from a server that shows none
 */
public record Changed(long job, JobState state, Instant due, long version) {
}
