/** The client of the Adjourn delay queue. */
module io.adjourn.client {
    exports io.adjourn.client;
    exports io.adjourn.client.testing;
}
