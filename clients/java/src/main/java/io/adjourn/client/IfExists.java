// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** What happens if the topic has a job with the key. */
public enum IfExists {
    /** The push of this job is refused. */
    REJECT(0),
    /** The job that is there stays; its id is the answer. */
    KEEP(1),
    /** The new job takes its place, unless it is reserved. */
    REPLACE(2),
    /** The new job takes its place, even if it is reserved. */
    REPLACE_ANY(3),
    /** The job that is there waits for the new due time. */
    POSTPONE(4);

    private final int number;

    IfExists(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }
}
