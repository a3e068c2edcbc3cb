package io.adjourn.client.internal.session;

import io.adjourn.client.internal.wire.Response;
import java.util.List;

/** What a request was answered with; with the leases if it delivered jobs. */
public record Answer(Response response, List<Grant> grants) {
    public static Answer of(Response response) {
        return new Answer(response, List.of());
    }
}
