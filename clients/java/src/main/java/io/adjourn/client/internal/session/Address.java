package io.adjourn.client.internal.session;

import io.adjourn.client.internal.wire.Constants;
import java.util.Optional;

/** Where a server listens. */
public record Address(String host, int port) {
    /** An address that a server names; empty if it is none, or one that nobody can connect to. */
    static Optional<Address> named(String text) {
        return parse(text).filter(address -> !address.host.equals("0.0.0.0") && !address.host.equals("::"));
    }

    /** Reads {@code host:port} and {@code host}; empty if it is neither. */
    static Optional<Address> parse(String text) {
        int colon = text.lastIndexOf(':');
        boolean isBracketed = text.startsWith("[") && text.contains("]");
        boolean hasPort = colon >= 0 && (isBracketed ? colon > text.indexOf(']') : text.indexOf(':') == colon);
        String host = hasPort ? text.substring(0, colon) : text;
        if (isBracketed) {
            host = host.substring(1, host.length() - 1);
        }
        try {
            int port = hasPort ? Integer.parseInt(text.substring(colon + 1)) : Constants.PORT_DEFAULT;
            boolean isGood = !host.isEmpty() && host.indexOf('/') < 0 && host.indexOf(' ') < 0 && port > 0 && port < 65_536;
            return isGood ? Optional.of(new Address(host, port)) : Optional.empty();
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    @Override
    public String toString() {
        return host.indexOf(':') >= 0 ? "[" + host + "]:" + port : host + ":" + port;
    }
}
