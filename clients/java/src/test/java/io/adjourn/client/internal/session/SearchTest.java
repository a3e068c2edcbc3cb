package io.adjourn.client.internal.session;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** In which order addresses are tried, and for how long. */
class SearchTest {
    private static final Address A = new Address("a", 1);
    private static final Address B = new Address("b", 1);
    private static final Address C = new Address("c", 1);

    private static List<Address> rest(Search search) {
        return Stream.generate(search::next).takeWhile(Objects::nonNull).toList();
    }

    private static List<Long> patience(Search search, int rounds) {
        return IntStream.range(0, rounds).mapToObj(round -> {
            search.begin("", List.of());
            search.next();
            return search.patience(4_000);
        }).toList();
    }

    @Test
    void aHintComesFirstAndNoAddressTwice() {
        Search search = new Search(List.of(A, B));
        search.begin("b:1", List.of("c:1", "0.0.0.0:1", "b:1", "[::]:1", ""));
        assertEquals(List.of(B, A, C), rest(search));
        search.begin("0.0.0.0:1", List.of());
        assertEquals(List.of(A, B), rest(search));
    }

    @Test
    void theLeaderThatAServerNamesIsNextAndOnceARound() {
        Search search = new Search(List.of(A, B, C));
        search.begin("", List.of());
        assertEquals(A, search.next());
        search.redirect("c:1");
        search.redirect("a:1");
        assertEquals(List.of(C, B), rest(search));
        search.redirect("c:1");
        assertEquals(List.of(), rest(search), "two that point at each other end the round");
    }

    @Test
    void aSilentAddressIsTriedLastUntilItAnswers() {
        Search search = new Search(List.of(A, B));
        search.begin("", List.of());
        search.wasSilent(A);
        search.begin("a:1", List.of("c:1"));
        assertEquals(B, search.next());
        search.redirect("a:1");
        assertEquals(List.of(C, A), rest(search), "a stale hint does not bring it forward");
        search.answered(A);
        search.begin("a:1", List.of());
        assertEquals(List.of(A, B), rest(search));
    }

    @Test
    void patienceGrowsFromRoundToRoundAndTheOnlyAddressGetsAllOfIt() {
        Search search = new Search(List.of(A, B));
        assertEquals(List.of(1_000L, 2_000L, 4_000L, 4_000L), patience(search, 4));
        search.found();
        assertEquals(List.of(1_000L), patience(search, 1));
        assertEquals(List.of(4_000L), patience(new Search(List.of(A)), 1));
    }
}
