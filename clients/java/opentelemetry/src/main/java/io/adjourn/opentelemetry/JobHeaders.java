package io.adjourn.opentelemetry;

import io.adjourn.client.Attributes;
import io.adjourn.client.Header;
import io.adjourn.client.Job;
import io.adjourn.client.Limits;
import io.adjourn.client.NewJob;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** A context in the headers of a job. */
final class JobHeaders {
    private static final String TRACEPARENT = "traceparent";
    static final TextMapGetter<Job> GETTER = new TextMapGetter<>() {
        @Override
        public Iterable<String> keys(Job job) {
            return job.attributes().headers().stream().map(Header::name).toList();
        }

        @Override
        public String get(Job job, String name) {
            return job.header(name).orElse(null);
        }
    };

    private JobHeaders() {
    }

    /**
     * The job with the headers of this context. Its own headers win, and a job with a {@code traceparent} of its own gets none. A header that
     * does not fit into the limit of a job is left out, so that the push is not refused; without {@code traceparent}, so are all others.
     */
    static NewJob inject(TextMapPropagator propagator, Context context, NewJob job) {
        Attributes all = job.attributes();
        if (all.header(TRACEPARENT).isPresent()) {
            return job;
        }
        Map<String, Header> injected = new LinkedHashMap<>();
        propagator.inject(context, injected, (into, name, value) -> into.put(name.toLowerCase(Locale.ROOT), new Header(name, value)));
        List<Header> headers = new ArrayList<>(injected.values());
        headers.sort(Comparator.comparing(header -> !header.name().equalsIgnoreCase(TRACEPARENT)));
        int bytesLeft = Limits.HEADERS_BYTES_MAX - all.headers().stream().mapToInt(header -> bytes(header.name(), header.value())).sum();
        for (Header header : headers) {
            int bytes = bytes(header.name(), header.value());
            if (all.header(header.name()).isEmpty() && bytes <= bytesLeft) {
                all = all.withHeader(header.name(), header.value());
                bytesLeft -= bytes;
            } else if (header.name().equalsIgnoreCase(TRACEPARENT)) {
                return job;
            }
        }
        return job.attributes(all);
    }

    private static int bytes(String name, String value) {
        return name.getBytes(StandardCharsets.UTF_8).length + value.getBytes(StandardCharsets.UTF_8).length;
    }
}
