package io.adjourn.client.internal.session;

import io.adjourn.client.UsageException;
import java.util.ArrayList;
import java.util.List;

/** Where the servers of a client are, and the scheme that was written before the first: it holds for all. */
public record Servers(List<Address> addresses, String scheme) {
    public static final Servers NONE = new Servers(List.of(), "");
    private static final String PLAIN = "adjourn://";
    private static final String SECURE = "adjourns://";

    /** These and others: {@code adjourn://host:port[,host:port]}, {@code adjourns://} for TLS, or {@code host:port}. */
    public Servers and(String text) {
        List<Address> all = new ArrayList<>(addresses);
        String first = scheme;
        for (String part : text.split(",", -1)) {
            String address = part.strip();
            String own = List.of(PLAIN, SECURE).stream().filter(address::startsWith).findFirst().orElse("");
            if (all.isEmpty()) {
                first = own;
            } else if (!own.isEmpty() && !own.equals(first)) {
                throw new UsageException(text + ": TLS is spoken with all servers or with none: write adjourns:// once, before the first");
            }
            String rest = address.substring(own.length()).replaceFirst("/$", "");
            all.add(Address.parse(rest).orElseThrow(
                    () -> new UsageException("not an address: " + text + ": write host:port, or adjourns://host:port for TLS")));
        }
        return new Servers(List.copyOf(all), first);
    }

    /** Whether TLS is spoken with them. */
    public boolean areSecure() {
        return scheme.equals(SECURE);
    }
}
