package io.adjourn.client;

/** In which order jobs are listed. */
public enum ListOrder {
    /** By due time, then id. */
    DUE,
    /** By id, which is the order in which they were pushed. */
    ID,
    /** By key, without the jobs that have none. */
    KEY
}
