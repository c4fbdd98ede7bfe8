package dev.warmpath.router.dispatch;

import dev.warmpath.protocol.generate.GenerateEvent;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
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
import org.openjdk.jmh.infra.Blackhole;
import tools.jackson.databind.json.JsonMapper;

/**
 * A line of a worker's answer with one token, read by hand, and the same as JSON. In the package of what it measures,
 * which nobody else is to see.
 * <pre>
 *   java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *        org.openjdk.jmh.Main EventLinesBenchmark -prof gc
 * </pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class EventLinesBenchmark {

    private final EventLines lines = new EventLines(JsonMapper.builder().build());
    private final ByteBuf own = line("{\"type\":\"tokens\",\"index\":0,\"ids\":[12345]}\n");
    private final ByteBuf spaced = line("{\"type\": \"tokens\",\"index\":0,\"ids\":[12345]}\n");

    private static ByteBuf line(String text) {
        return Unpooled.directBuffer().writeBytes(text.getBytes(StandardCharsets.US_ASCII));
    }

    @Benchmark
    public void byHand(Blackhole blackhole) {
        read(own, blackhole);
    }

    /** A space more, and the line is anybody's. */
    @Benchmark
    public void asJson(Blackhole blackhole) {
        read(spaced, blackhole);
    }

    private void read(ByteBuf line, Blackhole blackhole) {
        lines.accept(line, (GenerateEvent event) -> blackhole.consume(event));
        line.readerIndex(0);
    }
}
