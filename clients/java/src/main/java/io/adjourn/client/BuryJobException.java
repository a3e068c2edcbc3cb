package io.adjourn.client;

/** Thrown by a handler: no further attempt makes sense, set the job aside. */
public final class BuryJobException extends Exception {
    private static final long serialVersionUID = 1;

    public BuryJobException(String reason) {
        super(reason);
    }
}
