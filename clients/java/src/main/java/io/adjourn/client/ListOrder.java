// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** In which order jobs are listed. */
public enum ListOrder {
    /** By due time, then id. */
    DUE(0),
    /** By id, which is the order in which they were pushed. */
    ID(1),
    /** By key, then id, without the jobs that have no key. */
    KEY(2);

    private final int number;

    ListOrder(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }
}
