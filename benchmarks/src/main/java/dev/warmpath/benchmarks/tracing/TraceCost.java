package dev.warmpath.benchmarks.tracing;

import dev.warmpath.router.RouterApplication;
import dev.warmpath.router.decisions.RequestRecord;
import dev.warmpath.router.metrics.RouterMetrics.Stage;
import dev.warmpath.router.tracing.AttemptTrace;
import dev.warmpath.router.tracing.RequestTrace;
import dev.warmpath.router.tracing.RequestTraces;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.Span;
import io.micrometer.tracing.Tracer;
import io.micrometer.tracing.handler.TracingObservationHandler.TracingContext;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Processor time of one thread that observes requests as the router's spine does, and does nothing else: three stages of
 * own work; where the request is sampled, also the answer, the line and one try at a worker. Spring's own span of the
 * request is not in it. Beside it the three timers that the stages were before. Spans are ended and dropped: nobody
 * takes them.
 * <pre>
 * mvn -q -B -DskipTests package dependency:build-classpath -pl benchmarks -am -Dmdep.outputFile=target/classpath
 * java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) dev.warmpath.benchmarks.tracing.TraceCost
 * </pre>
 */
public final class TraceCost {

    private static final int ROUNDS = 5;
    private static final int REQUESTS = 100_000;
    private static final String COLLECTOR = "--management.opentelemetry.tracing.export.otlp.endpoint=http://127.0.0.1:9";
    private static final RequestRecord.Asked ASKED =
            new RequestRecord.Asked("r", null, "chat", true, 3, 1, 64, 0.5f, null, 1f, 2, 0, false);
    private static final RequestRecord.Answer ANSWER = new RequestRecord.Answer("stop", 48, 5);
    private static final List<String> PORTS = List.of("--server.port=0", "--management.server.port=0",
            "--logging.level.root=off");

    /** So that the compiler leaves nothing out. */
    private static volatile @Nullable Object kept;

    private TraceCost() {}

    public static void main(String[] args) {
        System.out.println("| | µs a request |");
        System.out.println("|---|---:|");
        try (ConfigurableApplicationContext router = start()) {
            var traces = router.getBean(RequestTraces.class);
            List<Timer> timers = List.of(Stage.values()).stream().map(stage -> Timer.builder("before")
                    .tag("stage", stage.name()).register(router.getBean(MeterRegistry.class))).toList();
            print("three timers", () -> {
                timers.forEach(timer -> timer.record(() -> 1));
                return timers;
            });
            print("without a collector", () -> observe(traces, null));
        }
        try (ConfigurableApplicationContext router = start(COLLECTOR, "--management.tracing.sampling.probability=0")) {
            var traces = router.getBean(RequestTraces.class);
            Observation request = request(router);
            print("with one, not sampled", () -> observe(traces, request));
        }
        try (ConfigurableApplicationContext router = start(COLLECTOR, "--management.tracing.sampling.probability=1")) {
            var traces = router.getBean(RequestTraces.class);
            Observation request = request(router);
            print("sampled, 6 spans", () -> observe(traces, request));
        }
    }

    private static ConfigurableApplicationContext start(String... settings) {
        List<String> all = new ArrayList<>(PORTS);
        all.addAll(List.of(settings));
        return new SpringApplicationBuilder(RouterApplication.class).run(all.toArray(String[]::new));
    }

    /** As Spring has one, with its span. */
    private static Observation request(ConfigurableApplicationContext router) {
        Span span = router.getBean(Tracer.class).nextSpan().start();
        var tracing = new TracingContext();
        tracing.setSpan(span);
        var context = new Observation.Context();
        context.put(TracingContext.class, tracing);
        return Observation.createNotStarted("request", () -> context, router.getBean(ObservationRegistry.class));
    }

    private static Object observe(RequestTraces traces, @Nullable Observation request) {
        RequestTrace trace = traces.begin(request, ASKED);
        trace.served("model");
        trace.stage(Stage.TOKENIZE, () -> 1);
        trace.stage(Stage.HASH, () -> 1);
        trace.tokenized(100);
        trace.inLine();
        trace.outOfLine();
        trace.stage(Stage.ROUTE, () -> 1);
        AttemptTrace attempt = trace.attempt(1, "worker", "prefix", 48);
        attempt.firstToken();
        trace.firstText(1, () -> {});
        attempt.usage(48);
        attempt.ended(null);
        trace.answered("revision", ANSWER);
        trace.ended(null);
        return attempt.headers();
    }

    private static void print(String name, Supplier<Object> request) {
        double best = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            best = Math.min(best, microsPerRequest(request));
        }
        System.out.printf(Locale.ROOT, "| %s | %.2f |%n", name, best);
    }

    private static double microsPerRequest(Supplier<Object> request) {
        var threads = ManagementFactory.getThreadMXBean();
        long begin = threads.getCurrentThreadCpuTime();
        for (int i = 0; i < REQUESTS; i++) {
            kept = request.get();
        }
        return (threads.getCurrentThreadCpuTime() - begin) / 1e3 / REQUESTS;
    }
}
