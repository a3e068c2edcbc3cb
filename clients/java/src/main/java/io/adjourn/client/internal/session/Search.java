package io.adjourn.client.internal.session;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Which address to try next, and how long to wait for its answer. It proceeds in rounds. A round tries each address once: the one
 * that a server named as the leader, the configured ones, the members. It knows no socket and no clock.
 */
final class Search {
    private final List<Address> configured;
    private final ArrayDeque<Address> ahead = new ArrayDeque<>();
    private final Set<Address> tried = new HashSet<>();
    /** Did not answer when they were tried last. */
    private final Set<Address> silent = new HashSet<>();
    private int rounds;

    Search(List<Address> configured) {
        this.configured = configured;
    }

    /** Begins a round. Addresses that were silent come last. */
    void begin(String hint, Collection<String> members) {
        rounds++;
        tried.clear();
        ahead.clear();
        Set<Address> all = new LinkedHashSet<>();
        Address.named(hint).ifPresent(all::add);
        all.addAll(configured);
        members.forEach(member -> Address.named(member).ifPresent(all::add));
        // Addresses come from servers: those that none names any more are forgotten.
        silent.retainAll(all);
        all.stream().filter(address -> !silent.contains(address)).forEach(ahead::add);
        all.stream().filter(silent::contains).forEach(ahead::add);
    }

    /** The next address of this round; {@code null} at its end. */
    Address next() {
        Address address = ahead.poll();
        if (address != null) {
            tried.add(address);
        }
        return address;
    }

    /**
     * How much of the limit to wait for the address that came last. While the round has others it is not all of it: a server that is
     * stuck must not hide one that leads.
     */
    long patience(long limit) {
        if (tried.size() + ahead.size() == 1) {
            return limit;
        }
        return switch (rounds) {
            case 1 -> limit / 4;
            case 2 -> limit / 2;
            default -> limit;
        };
    }

    /** A server said who leads: that is next, unless it was tried in this round or was silent. */
    void redirect(String leader) {
        Address.named(leader).filter(address -> !tried.contains(address)).ifPresent(address -> {
            ahead.remove(address);
            if (silent.contains(address)) {
                ahead.addLast(address);
            } else {
                ahead.addFirst(address);
            }
        });
    }

    /** The address answered, even if only by refusing the connection. */
    void answered(Address address) {
        silent.remove(address);
    }

    /** Nothing came from this address in time. */
    void wasSilent(Address address) {
        silent.add(address);
    }

    /** The leader is found. */
    void found() {
        rounds = 0;
    }
}
