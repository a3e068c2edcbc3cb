package io.adjourn.client;

/**
 * What a server refused something with.
 *
 * @param number the code
 * @param retryable whether the same call may succeed later, as it is
 * @param applied whether it had an effect
 * @param retryAfterMs do not try again before; 0 without such a hint
 * @param job the job that is in the way of a push; 0 for none
 * @param message for a person
 */
record Refusal(int number, boolean retryable, Applied applied, long retryAfterMs, long job, String message) {
}
