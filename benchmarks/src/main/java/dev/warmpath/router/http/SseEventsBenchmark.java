package dev.warmpath.router.http;

import io.netty.buffer.PooledByteBufAllocator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import tools.jackson.databind.json.JsonMapper;

/**
 * One token's event of a chat, from its template, and by Jackson as a whole. In the package of what it measures, which
 * nobody else is to see.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main SseEventsBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class SseEventsBenchmark {

    private static final String TEXT = " token";

    private record Chunk(String id, String object, long created, String model, List<Map<String, Object>> choices) {
        static Chunk of(String text) {
            return new Chunk("chatcmpl-0123456789abcdef0123456789abcdef", "chat.completion.chunk", 1_795_000_000,
                    "llama", List.of(Map.of("index", 0, "delta", Map.of("content", text))));
        }
    }

    private final SseEvents events = new SseEvents(JsonMapper.builder().build(), PooledByteBufAllocator.DEFAULT);
    private final SseEvents.Template template = events.template(Chunk::of);

    @Benchmark
    public void fromATemplate() {
        events.add(template, TEXT);
        events.take().release();
    }

    @Benchmark
    public void byJackson() {
        events.addJson(Chunk.of(TEXT));
        events.take().release();
    }
}
