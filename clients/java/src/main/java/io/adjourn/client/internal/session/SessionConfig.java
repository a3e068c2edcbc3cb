package io.adjourn.client.internal.session;

import java.time.Duration;
import java.util.List;

/** How a session is opened and kept, or that there is none. */
public record SessionConfig(List<Address> addresses, String name, byte[] token, Duration heartbeat, boolean leasesOutlive,
        boolean withoutSession, Duration requestTimeout, Duration connectTimeout, Dialer dialer) {
}
