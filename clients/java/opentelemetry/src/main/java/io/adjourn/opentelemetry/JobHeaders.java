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
import java.util.LinkedHashMap;
import java.util.Map;

/** A context in the headers of a job. */
final class JobHeaders {
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
     * The job with the headers of this context. Its own headers win. A header that does not fit into the limit of a job is left out, so that
     * the push is not refused.
     */
    static NewJob inject(TextMapPropagator propagator, Context context, NewJob job) {
        Map<String, String> headers = new LinkedHashMap<>();
        propagator.inject(context, headers, Map::put);
        Attributes all = job.attributes();
        if (all.header("traceparent").isPresent()) {
            // The state is one of the trace that the job names itself.
            headers.remove("tracestate");
        }
        int bytesLeft = Limits.HEADERS_BYTES_MAX - all.headers().stream().mapToInt(header -> bytes(header.name(), header.value())).sum();
        for (Map.Entry<String, String> header : headers.entrySet()) {
            int bytes = bytes(header.getKey(), header.getValue());
            if (all.header(header.getKey()).isEmpty() && bytes <= bytesLeft) {
                all = all.withHeader(header.getKey(), header.getValue());
                bytesLeft -= bytes;
            }
        }
        return job.attributes(all);
    }

    private static int bytes(String name, String value) {
        return name.getBytes(StandardCharsets.UTF_8).length + value.getBytes(StandardCharsets.UTF_8).length;
    }
}
