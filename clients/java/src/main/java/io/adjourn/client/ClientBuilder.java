package io.adjourn.client;

import io.adjourn.client.internal.session.Pem;
import io.adjourn.client.internal.session.Servers;
import io.adjourn.client.internal.session.Session;
import io.adjourn.client.internal.session.SessionConfig;
import io.adjourn.client.internal.session.TcpDialer;
import io.adjourn.client.internal.wire.FrameWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLContext;

/** Makes a {@link Client}. */
public final class ClientBuilder {
    private Servers servers = Servers.NONE;
    private SSLContext sslContext;
    private Path ca;
    private Path certificate;
    private Path key;
    private String name = "java";
    private byte[] token = new byte[0];
    private Duration heartbeat = Duration.ZERO;
    private boolean leasesOutlive;
    private boolean withoutSession;
    private Duration requestTimeout = Duration.ofSeconds(30);
    private Duration connectTimeout = Duration.ofSeconds(5);
    private UnaryOperator<NewJob> onPush = UnaryOperator.identity();
    private Tracing tracing = new NoTracing();

    ClientBuilder() {
    }

    /**
     * {@code adjourn://host:port[,host:port]}, {@code adjourns://} for TLS, or {@code host:port}. Any member of a cluster will do;
     * may be repeated. The scheme of the first holds for all.
     */
    public ClientBuilder address(String address) {
        servers = servers.and(address);
        return this;
    }

    /** The CAs to believe with {@code adjourns://}, a PEM file; without it those of the system. */
    public ClientBuilder tlsCa(Path file) {
        ca = file;
        return this;
    }

    /** What to show to a server that asks for a certificate: PEM files of the certificate with its chain, and of its PKCS8 key. */
    public ClientBuilder tlsCertificate(Path newCertificate, Path newKey) {
        certificate = newCertificate;
        key = newKey;
        return this;
    }

    /** Takes the place of all files. The host name is checked, and only TLS 1.3 is spoken, with any context. */
    public ClientBuilder sslContext(SSLContext context) {
        sslContext = context;
        return this;
    }

    /** What the server's log calls this client; at most 64 bytes. */
    public ClientBuilder name(String newName) {
        if (FrameWriter.utf8(newName).length > Limits.CLIENT_NAME_BYTES_MAX) {
            throw new UsageException("a client's name has at most 64 bytes");
        }
        name = newName;
        return this;
    }

    /** The token that the server asks for; at most 256 bytes. */
    public ClientBuilder token(String newToken) {
        return token(FrameWriter.utf8(newToken));
    }

    /** The token that the server asks for; at most 256 bytes. */
    public ClientBuilder token(byte[] newToken) {
        if (newToken.length > Limits.TOKEN_BYTES_MAX) {
            throw new UsageException("a token has at most 256 bytes");
        }
        token = newToken.clone();
        return this;
    }

    /** The heartbeat to ask for; without it the server decides. */
    public ClientBuilder heartbeat(Duration newHeartbeat) {
        heartbeat = newHeartbeat;
        return this;
    }

    /** Leases run to their deadline whatever happens to the session: for programs that reserve here and finish elsewhere. */
    public ClientBuilder leasesOutlive(boolean outlive) {
        leasesOutlive = outlive;
        return this;
    }

    /**
     * No session is opened, which would be a commit at the start and one at the end: for programs that push, look and manage once and
     * end. Such a client cannot reserve. Each of its pushes has a random key instead of numbers, under which it is repeated after a
     * lost connection.
     */
    public ClientBuilder withoutSession(boolean without) {
        withoutSession = without;
        return this;
    }

    /** How long a call waits for its answer, reconnects included; 30 seconds without it. */
    public ClientBuilder requestTimeout(Duration timeout) {
        requestTimeout = timeout;
        return this;
    }

    /** How long one attempt to connect may take; 5 seconds without it. While there are other addresses, the first attempts get less. */
    public ClientBuilder connectTimeout(Duration timeout) {
        connectTimeout = timeout;
        return this;
    }

    /** Called for each job before it is pushed, for example to add a header. */
    public ClientBuilder onPush(UnaryOperator<NewJob> hook) {
        UnaryOperator<NewJob> before = onPush;
        onPush = job -> hook.apply(before.apply(job));
        return this;
    }

    /** Follows jobs from their push to their handler, for all workers of the client. */
    public ClientBuilder tracing(Tracing newTracing) {
        tracing = new GuardedTracing(newTracing);
        return this;
    }

    /** Starts to connect in the background; calls wait until there is a connection. */
    public Client build() {
        if (servers.addresses().isEmpty()) {
            throw new UsageException("a client needs an address");
        }
        Session session = new Session(new SessionConfig(servers.addresses(), name, token, heartbeat, leasesOutlive,
                withoutSession, requestTimeout, connectTimeout, new TcpDialer(tls())));
        session.start();
        return new Client(session, onPush, tracing);
    }

    private SSLContext tls() {
        boolean hasFiles = ca != null || certificate != null || key != null;
        if ((hasFiles || sslContext != null) && !servers.areSecure()) {
            throw new UsageException("what is said of TLS needs an address with adjourns://");
        }
        if (hasFiles && sslContext != null) {
            throw new UsageException("an SSLContext takes the place of all files: use one or the other");
        }
        if ((certificate == null) != (key == null)) {
            throw new UsageException("a certificate needs its key, and a key its certificate");
        }
        if (!servers.areSecure()) {
            return null;
        }
        return sslContext != null ? sslContext : Pem.context(ca, certificate, key);
    }

    /**
     * As {@link #build}, and waits for the connection, for {@link #connectTimeout}. A certificate that one side does not believe ends it
     * at once. For a server that may start later, use {@link #build} and {@link Client#awaitConnected}.
     */
    public Client connect() {
        Client client = build();
        try {
            client.awaitConnected(connectTimeout);
            return client;
        } catch (AdjournException e) {
            client.close(Duration.ZERO);
            throw e;
        }
    }
}
