package io.adjourn.client.internal.session;

import io.adjourn.client.internal.wire.Response;

/** A delivered job, and the lease that this client holds on it. */
public record Grant(Response.Delivered job, Hold hold) {
}
