package io.adjourn.client;

/**
 * The server does not hold the {@link Backup} any more: the connection was lost, another backup was taken, it was closed, or nothing
 * was read for too long. Take another one.
 */
public final class BackupLostException extends AdjournException {
    private static final long serialVersionUID = 1;

    public BackupLostException(String message, Throwable cause) {
        super("BACKUP_LOST", false, Applied.NO, message, cause);
    }
}
