// Generated from the schema by `make generate`. Do not edit.
package io.adjourn.client;

/** The known effect of a request that failed. */
public enum Applied {
    /** Nothing was changed. */
    NO(0),
    /** It may have been applied, or may still be. */
    UNKNOWN(1);

    private final int number;

    Applied(int number) {
        this.number = number;
    }

    /** Its number on the wire. */
    public int number() {
        return number;
    }
}
