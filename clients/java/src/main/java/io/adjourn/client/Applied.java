package io.adjourn.client;

/** Whether a call that failed had an effect. */
public enum Applied {
    /** Nothing was changed: the call may be repeated. */
    NO,
    /** It may have been applied, or may still be. Check before you repeat it. */
    UNKNOWN
}
