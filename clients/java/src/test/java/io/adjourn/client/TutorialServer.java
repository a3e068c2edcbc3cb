package io.adjourn.client;

/** A real server for the tests of the documents. */
public final class TutorialServer implements AutoCloseable {
    private final TestServer server = new TestServer();

    public String address() {
        return server.address();
    }

    @Override
    public void close() {
        server.close();
    }
}
