package io.adjourn.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example of README.md compiles. */
class ReadmeTest {
    private static final String FRAME = """
            import io.adjourn.client.*;
            import io.adjourn.opentelemetry.OpenTelemetryTracing;
            import io.opentelemetry.api.*;
            import io.opentelemetry.api.trace.Span;

            class Traces {
                void run() {
                    %s
                }
            }
            """;

    @Test
    void theExampleCompiles(@TempDir Path folder) throws IOException {
        MatchResult example = Pattern.compile("(?ms)^## Traces$.*?^```java\\n(.*?)^```$").matcher(Files.readString(Path.of("README.md"))).results()
                .findFirst().orElseThrow();
        Path source = Files.writeString(folder.resolve("Traces.java"), FRAME.formatted(example.group(1)));
        assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, "-d", folder.toString(), source.toString()));
    }
}
