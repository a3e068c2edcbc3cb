package io.adjourn.client.internal.session;

import io.adjourn.client.AdjournException;
import io.adjourn.client.Applied;
import io.adjourn.client.ConnectionException;
import io.adjourn.client.ErrorCode;
import io.adjourn.client.ServerException;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Request;
import io.adjourn.client.internal.wire.RequestEncoder;
import io.adjourn.client.internal.wire.Response;
import io.adjourn.client.internal.wire.ResponseDecoder;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicReference;
import javax.net.ssl.SSLException;

/** Finds the leader, carries bytes, and reconnects for as long as there is hope. */
final class Connector {
    private static final Logger LOG = System.getLogger("io.adjourn.client");
    private static final long MS = 1_000_000L;
    private static final long BOUND_FIRST = 50 * MS;
    private static final long BOUND_MAX = 1_000 * MS;
    private static final int WRITE_BYTES = 64 << 10;
    private static final int KEPT_BYTES_MAX = 2 << 20;

    private final Session session;
    private final SessionConfig config;
    private final Search search;
    private final Thread thread;
    private final AtomicReference<Dialer.Stream> dialed = new AtomicReference<>();
    private long bound = BOUND_FIRST;

    Connector(Session session, SessionConfig config) {
        this.session = session;
        this.config = config;
        this.search = new Search(config.addresses());
        this.thread = Session.daemon(this::run, "adjourn-connection");
    }

    void start() {
        thread.start();
    }

    /** Ends an attempt that is under way. */
    void stop() {
        close(dialed.getAndSet(null));
    }

    /** A connection that was welcomed. */
    static final class Link {
        private final Dialer.Stream stream;
        private final FrameInput input;
        private final Address address;
        private volatile String why;

        private Link(Dialer.Stream stream, FrameInput input, Address address) {
            this.stream = stream;
            this.input = input;
            this.address = address;
        }

        Address address() {
            return address;
        }

        /** Ends it; the reading thread finds out. */
        void close(String reason) {
            why = why == null ? reason : why;
            Connector.close(stream);
        }
    }

    private record Greeted(Link link, Response.Welcome welcome, long said) {
    }

    private void run() {
        try {
            while (true) {
                Greeted greeted = connect();
                if (greeted == null || !session.up(greeted.welcome, greeted.said, greeted.link)) {
                    if (greeted != null) {
                        greeted.link.close("the client has ended");
                    }
                    return;
                }
                LOG.log(Level.DEBUG, "connected to {0}", greeted.link.address);
                carry(greeted.link);
            }
        } catch (RuntimeException | java.lang.Error e) {
            LOG.log(Level.ERROR, "the connection's thread failed", e);
            session.giveUp(new ConnectionException("the client failed: " + e, e));
        }
    }

    private void carry(Link link) {
        Thread writer = Session.daemon(() -> write(link), "adjourn-writer");
        writer.start();
        Throwable cause;
        try {
            cause = read(link);
        } finally {
            link.close("the connection is over");
        }
        String why = link.why.equals("the connection is over") ? cause.getMessage() : link.why;
        LOG.log(session.hasEnded() ? Level.DEBUG : Level.INFO, "the connection to {0} is lost: {1}", link.address, why);
        if (session.down(link, new ConnectionException("the connection to " + link.address + " was lost: " + why, cause))) {
            bound = BOUND_FIRST;
        }
    }

    private Throwable read(Link link) {
        try {
            while (true) {
                FrameInput.Frame frame = link.input.next();
                session.answered(link, frame.requestId(), ResponseDecoder.decode(frame.opcode(), frame.payload()));
            }
        } catch (IOException | MalformedFrameException e) {
            return e;
        }
    }

    private void write(Link link) {
        FrameWriter spare = new FrameWriter(WRITE_BYTES);
        try {
            OutputStream output = link.stream.output();
            FrameWriter full;
            while ((full = session.takeOutput(link, spare)) != null) {
                for (int from = 0; from < full.size(); from += WRITE_BYTES) {
                    output.write(full.buffer(), from, Math.min(WRITE_BYTES, full.size() - from));
                    session.written(link);
                }
                spare = full.buffer().length > KEPT_BYTES_MAX ? new FrameWriter(WRITE_BYTES) : full;
            }
        } catch (IOException e) {
            link.close(String.valueOf(e.getMessage()));
        }
    }

    // ---- finding the leader

    /** Tries address after address, until one welcomes us; {@code null} when the session has ended. */
    private Greeted connect() {
        Wire.Elsewhere elsewhere = session.takeElsewhere();
        String hint = elsewhere.leader();
        long pauseMs = elsewhere.pauseMs();
        while (true) {
            long wait = pauseMs * MS + ThreadLocalRandom.current().nextLong(bound + 1);
            bound = Math.min(BOUND_MAX, bound * 2);
            if (!session.pause(wait)) {
                return null;
            }
            search.begin(hint, session.members());
            Round round = new Round();
            Greeted greeted = round.run();
            if (greeted != null || round.isHopeless) {
                return greeted;
            }
            session.missed(round.isOfCertificates() ? round.failure : null);
            hint = round.hint;
            pauseMs = round.pauseMs;
        }
    }

    /** Each address once. */
    private final class Round {
        private String hint = "";
        private long pauseMs;
        private boolean isHopeless;
        private ConnectionException failure;
        private boolean wasOtherwise;

        /** Whether TLS failed with every server for a reason that will be the same next time. */
        boolean isOfCertificates() {
            return failure != null && !wasOtherwise;
        }

        Greeted run() {
            while (!isHopeless && session.pause(0)) {
                Address address = search.next();
                if (address == null) {
                    break;
                }
                try {
                    Greeted greeted = greet(address);
                    search.answered(address);
                    if (greeted != null) {
                        search.found();
                        return greeted;
                    }
                    wasOtherwise = true;
                } catch (IOException | MalformedFrameException e) {
                    LOG.log(Level.DEBUG, "cannot connect to {0}: {1}", address, e);
                    String what = e instanceof SSLException ? "TLS failed: " : "";
                    failure = new ConnectionException("cannot connect to " + address + ": " + what + e.getMessage(), e);
                    wasOtherwise |= !isFinal(e);
                    session.failed(failure);
                    if (e instanceof SocketTimeoutException) {
                        search.wasSilent(address);
                    } else {
                        search.answered(address);
                    }
                }
            }
            return null;
        }

        private Greeted greet(Address address) throws IOException, MalformedFrameException {
            long patience = search.patience(config.connectTimeout().toNanos());
            long deadline = session.now() + patience;
            Dialer.Stream stream = config.dialer().dial(address, Duration.ofNanos(patience));
            dialed.set(stream);
            boolean isWelcome = false;
            try {
                if (!session.pause(0)) {
                    return null;
                }
                long said = session.now();
                FrameInput input = new FrameInput(stream.input(), new Patience(stream, deadline));
                FrameInput.Frame frame = sayHello(stream, input);
                Response answer = ResponseDecoder.decode(frame.opcode(), frame.payload());
                if (answer instanceof Response.Welcome welcome) {
                    stream.readTimeout(Duration.ZERO);
                    Link link = new Link(stream, input, address);
                    input.watch(new Hearing(link));
                    isWelcome = true;
                    return new Greeted(link, welcome, said);
                }
                refused(address, answer);
                return null;
            } finally {
                dialed.set(null);
                if (!isWelcome) {
                    close(stream);
                }
            }
        }

        /** The answer to HELLO. */
        private FrameInput.Frame sayHello(Dialer.Stream stream, FrameInput input) throws IOException, MalformedFrameException {
            Request.Hello hello = session.hello();
            FrameWriter frame = new FrameWriter(256);
            RequestEncoder.encode(hello, 1, frame);
            try {
                stream.output().write(frame.toBytes());
                return input.next();
            } catch (IOException e) {
                if (hello.session() != 0) {
                    session.gaveUpHello();
                }
                throw e;
            }
        }

        private void refused(Address address, Response answer) throws IOException {
            if (!(answer instanceof Response.Error error)) {
                throw new IOException("HELLO was answered with " + answer.getClass().getSimpleName());
            }
            AdjournException refusal = ServerException.ofRequest(error.code(), error.isMarkedRetryable(), Applied.NO,
                    Integer.toUnsignedLong(error.retryAfterMs()), error.message());
            session.failed(refusal);
            LOG.log(Level.DEBUG, "{0} does not welcome us: {1}", address, refusal.getMessage());
            pauseMs = Math.max(pauseMs, Integer.toUnsignedLong(error.retryAfterMs()));
            ErrorCode code = ErrorCode.of(error.code());
            if (code == ErrorCode.NOT_LEADER && !error.leader().isEmpty()) {
                hint = error.leader();
                search.redirect(hint);
            } else if (!error.isMarkedRetryable() && code != ErrorCode.SESSION_UNKNOWN) {
                isHopeless = true;
                session.giveUp(refusal);
            }
        }
    }

    /** Whether a certificate is not believed, or the other side speaks no TLS: not that a connection ended in the handshake. */
    private static boolean isFinal(Exception e) {
        if (!(e instanceof SSLException)) {
            return false;
        }
        for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
            if (cause instanceof IOException && !(cause instanceof SSLException)) {
                return false;
            }
        }
        return true;
    }

    /** While HELLO has no answer: all reads together have a deadline. */
    private final class Patience implements FrameInput.Watch {
        private final Dialer.Stream stream;
        private final long deadline;

        Patience(Dialer.Stream stream, long deadline) {
            this.stream = stream;
            this.deadline = deadline;
        }

        @Override
        public void beforeRead() throws IOException {
            long leftMs = (deadline - session.now()) / MS;
            if (leftMs <= 0) {
                throw new SocketTimeoutException("HELLO was not answered in time");
            }
            stream.readTimeout(Duration.ofMillis(leftMs));
        }

        @Override
        public void came(boolean withinFrame) {
            // Nothing to note yet.
        }
    }

    /** On a connection that was welcomed. */
    private final class Hearing implements FrameInput.Watch {
        private final Link link;

        Hearing(Link link) {
            this.link = link;
        }

        @Override
        public void beforeRead() throws InterruptedIOException {
            // Silence is noticed by the session's clock.
        }

        @Override
        public void came(boolean withinFrame) {
            session.heard(link, withinFrame);
        }
    }

    private static void close(Dialer.Stream stream) {
        if (stream != null) {
            try {
                stream.close();
            } catch (IOException e) {
                LOG.log(Level.TRACE, "closing failed", e);
            }
        }
    }
}
