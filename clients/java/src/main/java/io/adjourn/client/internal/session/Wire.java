package io.adjourn.client.internal.session;

import io.adjourn.client.ConnectionException;
import io.adjourn.client.Limits;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.Response;
import java.time.Duration;
import java.util.List;

/**
 * The present connection as the requests see it: whether they can be sent, what waits to be written, what the server said of
 * itself, and when something was heard and said last. The session's lock guards it.
 *
 * <pre>
 * DOWN --welcomed--> UP --the server is about to close it--> DRAINING --closed--> DOWN
 * </pre>
 */
final class Wire {
    private static final long MS = 1_000_000L;
    private static final long SECOND = 1_000 * MS;
    private static final int OUT_BYTES_MAX = 1 << 20;
    private static final long DRAIN_MAX = 2 * SECOND;
    private static final long ANSWER_MAX = 5 * SECOND;
    private static final long MEMBERS_FIRST = SECOND;
    private static final long MEMBERS_EVERY = 5 * SECOND;
    private static final long HEARTBEAT_MIN = Limits.HEARTBEAT_MS_MIN * MS;

    enum Phase {
        DOWN, UP, DRAINING, ENDED
    }

    /** Where to go after this connection, and when. */
    record Elsewhere(String leader, long pauseMs) {
        static final Elsewhere UNKNOWN = new Elsewhere("", 0);
    }

    private final Guard guard;
    private final Ticker ticker;
    private final List<Address> addresses;
    private Phase phase = Phase.DOWN;
    private Connector.Link link;
    /** Of the last connection, once there was one. */
    private Response.Welcome welcome;
    private List<String> members = List.of();
    private Elsewhere elsewhere = Elsewhere.UNKNOWN;
    /** It has answered something that a server which cannot serve does not answer. */
    private boolean hasAnswered;
    private FrameWriter out = new FrameWriter(OUT_BYTES_MAX / 16);
    /** Requests without an answer, but for subscriptions. */
    int inFlight;
    private long heard;
    private long moved;
    private long spoken;
    private long pinged;
    private long membersDue;
    private long drainUntil;
    private Throwable lastFailure;
    /** Why the last round led nowhere, if the next one will not either. */
    private ConnectionException missed;

    Wire(Guard guard, Ticker ticker, List<Address> addresses) {
        this.guard = guard;
        this.ticker = ticker;
        this.addresses = addresses;
    }

    void up(Response.Welcome said, Connector.Link newLink) {
        welcome = said;
        members = said.members().stream().map(Response.Member::address).toList();
        link = newLink;
        phase = Phase.UP;
        hasAnswered = false;
        heard = moved = spoken = pinged = ticker.now();
        membersDue = heard + MEMBERS_FIRST;
    }

    /** The connection is gone. */
    void down() {
        link = null;
        phase = phase == Phase.ENDED ? Phase.ENDED : Phase.DOWN;
        inFlight = 0;
        out.clear();
    }

    void end() {
        phase = Phase.ENDED;
    }

    /** Nothing more is sent on this connection. */
    void drain(Elsewhere next) {
        elsewhere = new Elsewhere(next.leader.isEmpty() ? elsewhere.leader : next.leader, Math.max(next.pauseMs, elsewhere.pauseMs));
        if (phase == Phase.UP) {
            phase = Phase.DRAINING;
            drainUntil = ticker.now() + DRAIN_MAX;
            guard.tick.signalAll();
        }
    }

    void close(String why) {
        Connector.Link closing = link;
        if (closing != null) {
            guard.afterwards(() -> closing.close(why));
        }
    }

    Elsewhere takeElsewhere() {
        Elsewhere taken = elsewhere;
        elsewhere = Elsewhere.UNKNOWN;
        return taken;
    }

    /** Why there is no connection, or none to this server. */
    void failed(Throwable failure) {
        lastFailure = failure;
    }

    /** A round led nowhere; with this reason if the next one will not either. */
    void missed(ConnectionException reason) {
        missed = reason;
    }

    // ---- what is known of it

    ConnectionException missed() {
        return missed;
    }

    Throwable lastFailure() {
        return lastFailure;
    }

    ConnectionException notConnected(Duration after) {
        String cause = lastFailure == null ? "" : ": " + lastFailure.getMessage();
        return new ConnectionException("no connection to " + addresses + " within " + after.toMillis() + " ms" + cause, lastFailure);
    }

    boolean is(Connector.Link other) {
        return link == other;
    }

    boolean isUp() {
        return phase == Phase.UP;
    }

    boolean isDown() {
        return phase == Phase.DOWN;
    }

    boolean isDraining() {
        return phase == Phase.DRAINING;
    }

    /** Whether a server is there, and not silent. */
    boolean isAlive() {
        return phase == Phase.UP && ticker.now() - heard < 2 * heartbeat();
    }

    boolean hasAnswered() {
        return hasAnswered;
    }

    /** What the server said last; {@code null} before the first connection. */
    Response.Welcome welcome() {
        return welcome;
    }

    List<String> members() {
        return members;
    }

    int inFlightMax() {
        // Room for heartbeats.
        return Math.max(1, limit(welcome.inFlightMax()) - 4);
    }

    /** A limit of WELCOME as a positive number. */
    static int limit(int unsigned) {
        return unsigned <= 0 ? unsigned == 0 ? 1 : Integer.MAX_VALUE : unsigned;
    }

    // ---- output

    FrameWriter out() {
        return out;
    }

    boolean isFull() {
        return inFlight >= inFlightMax() || out.size() >= OUT_BYTES_MAX;
    }

    /** Exchanges the buffers. */
    FrameWriter takeOutput(FrameWriter empty) {
        FrameWriter full = out;
        out = empty;
        out.clear();
        spoken = ticker.now();
        return full;
    }

    /** The other side took a part of the output. */
    void written() {
        spoken = moved = ticker.now();
    }

    // ---- input

    /** Bytes came. */
    void heard(boolean withinFrame) {
        heard = ticker.now();
        moved = withinFrame ? heard : moved;
    }

    /** A frame came that is not a heartbeat. */
    void moved() {
        moved = ticker.now();
    }

    void answered() {
        hasAnswered = true;
    }

    void members(Response.ClusterReport report) {
        List<String> named = report.members().stream().map(Response.Node::clientAddress)
                .filter(address -> !address.isEmpty()).toList();
        members = named.isEmpty() ? members : named;
    }

    /** The server does not tell the members. */
    void askNoMembers() {
        membersDue = Long.MAX_VALUE;
    }

    // ---- time

    /** When the connection counts as lost for its silence. */
    long silentAt() {
        return heard + 2 * heartbeat();
    }

    long drainUntil() {
        return drainUntil;
    }

    /** When the server has taken too long for an answer that was due since {@code due}. */
    long stuckAt(long due) {
        return Math.max(due, moved) + Math.max(ANSWER_MAX, 2 * heartbeat());
    }

    /** Whether it is time to ask for the members; the next time is later. */
    boolean asksMembers(long now) {
        boolean isDue = now >= membersDue;
        if (isDue) {
            membersDue = now + MEMBERS_EVERY;
        }
        return isDue;
    }

    /** Whether it is time for a heartbeat; the next one is later. */
    boolean pings(long now, long proven) {
        boolean isDue = now >= pingDue(proven);
        if (isDue) {
            pinged = now;
        }
        return isDue;
    }

    /** For how long there is nothing to do. */
    long quietFor(long now, long proven) {
        return Math.min(Math.min(pingDue(proven), silentAt()), membersDue) - now;
    }

    private long pingDue(long proven) {
        long grace = proven == Long.MAX_VALUE ? Long.MAX_VALUE : Integer.toUnsignedLong(welcome.sessionGraceMs()) * MS;
        long every = Math.max(HEARTBEAT_MIN, Math.min(heartbeat(), grace / 4));
        return Math.max(Math.min(Math.min(heard, spoken), proven), pinged) + every;
    }

    private long heartbeat() {
        long ms = welcome == null ? 0 : Integer.toUnsignedLong(welcome.heartbeatMs());
        return (ms == 0 ? Limits.HEARTBEAT_MS_MAX : ms) * MS;
    }
}
