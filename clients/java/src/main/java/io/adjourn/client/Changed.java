package io.adjourn.client;

import java.time.Instant;

/**
 * What a change of one job came to.
 *
 * @param job its id, unsigned
 * @param state its new state; after a delete, the state before
 * @param due when it is due
 */
public record Changed(long job, JobState state, Instant due) {
}
