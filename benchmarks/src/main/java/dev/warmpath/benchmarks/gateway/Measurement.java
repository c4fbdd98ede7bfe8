package dev.warmpath.benchmarks.gateway;

import dev.warmpath.benchmarks.gateway.Load.Pace;
import dev.warmpath.benchmarks.gateway.NativeTools.Seconds;
import java.io.IOException;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** All figures of one gateway, one load after the other. */
final class Measurement {

    private static final int BURST = 8;
    private static final int MANY_TOKENS = 128;
    private static final double ORDINARY_SHARE = 0.3;
    private static final int STREAMS = 3_000;
    private static final Pace STREAM_PACE = Pace.steps(200);
    private static final Load RUNNING_STREAMS = Load.SHORT.withTokens(MANY_TOKENS);

    private final NativeTools tools;
    private final MockFleet fleet;
    private final Gateway kind;
    private final RunningGateway gateway;
    private final Options options;
    private final Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    private long measuredNanos;
    private long foreignNanos;

    Measurement(NativeTools tools, MockFleet fleet, Gateway kind, RunningGateway gateway, Options options) {
        this.tools = kind.hasOwnWorkers() ? tools.countingPieces() : tools;
        this.fleet = fleet;
        this.kind = kind;
        this.gateway = gateway;
        this.options = options;
    }

    /** What a load cost the gateway. */
    private record Cost(LoadResult result, long cpuNanos, long allocatedBytes) {

        double cpuMillis() {
            return cpuNanos / 1e6 / result.requests();
        }

        double allocatedKib() {
            return allocatedBytes / 1024.0 / result.requests();
        }
    }

    Map<Figure, Double> run() throws IOException, InterruptedException {
        figures.put(Figure.START_TIME, gateway.startTime().toMillis() / 1e3);
        for (LoadName load : options.loads()) {
            if (load.needsPace() && kind.hasOwnWorkers()) {
                continue;
            }
            switch (load) {
                case SHORT -> shortRequestsAndTokens();
                case MID -> figures.put(Figure.MID_CPU, cost("mid", Load.MID).cpuMillis());
                case LONG -> figures.put(Figure.LONG_CPU, cost("long", Load.LONG).cpuMillis());
                case TURNS -> figures.put(Figure.LATER_TURN_CPU, cost("later turn", Load.LATER_TURN).cpuMillis());
                case MOST -> mostAndFirstToken();
                case GAPS -> gaps();
                case STREAMS -> manyStreams();
            }
        }
        if (measuredNanos > 0) {
            figures.put(Figure.FOREIGN_LOAD, (double) foreignNanos / measuredNanos);
        }
        return figures;
    }

    private void shortRequestsAndTokens() throws IOException, InterruptedException {
        Cost few = cost("short", Load.SHORT);
        Cost many = cost("short, 128 tokens", Load.SHORT.withTokens(MANY_TOKENS));
        figures.put(Figure.SHORT_CPU, few.cpuMillis());
        figures.put(Figure.TOKEN_ALONE_CPU, perToken(few.cpuMillis(), many.cpuMillis()) * 1e3);
        if (gateway.countsAllocation()) {
            figures.put(Figure.REQUEST_ALLOCATION, few.allocatedKib());
            figures.put(Figure.TOKEN_ALLOCATION, perToken(few.allocatedKib(), many.allocatedKib()));
        }
        if (kind.hasOwnWorkers()) {
            return;
        }
        Load bursts = Load.SHORT.withPace(Load.SHORT.pace().inBursts(BURST));
        figures.put(Figure.TOKEN_BURST_CPU, 1e3 * perToken(cost("short, bursts", bursts).cpuMillis(),
                cost("short, 128 tokens in bursts", bursts.withTokens(MANY_TOKENS)).cpuMillis()));
    }

    private static double perToken(double few, double many) {
        return (many - few) / (MANY_TOKENS - Load.SHORT.tokens());
    }

    /** The added delay is that of the same rate with and without the gateway between, one after the other. */
    private void mostAndFirstToken() throws IOException, InterruptedException {
        double most = cost("most", Load.MOST).result.requestsPerSecond();
        Load ordinary = Load.MOST.withRate(most * ORDINARY_SHARE);
        LoadResult through = cost("30 %", ordinary).result;
        LoadResult direct = tools.run(ordinary, fleet.ports().getFirst(), options.seconds(), NOBODY);
        figures.put(Figure.MOST_REQUESTS, most);
        figures.put(Figure.FIRST_P50, through.firstP50Ms() - direct.firstP50Ms());
        figures.put(Figure.FIRST_P99, through.firstP99Ms() - direct.firstP99Ms());
    }

    private void gaps() throws IOException, InterruptedException {
        fleet.setPace(RUNNING_STREAMS.pace());
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            Future<LoadResult> beside = threads.submit(
                    () -> tools.run(Load.MID, gateway.port(), options.seconds(), NOBODY));
            LoadResult streams = tools.run(RUNNING_STREAMS, gateway.port(), options.seconds(), NOBODY);
            note("mid beside streams", beside.get());
            note("streams beside mid", streams);
            figures.put(Figure.GAP_P99, streams.gapP99Ms());
        } catch (ExecutionException e) {
            throw new IOException("the load beside the streams has failed", e);
        }
    }

    private void manyStreams() throws IOException, InterruptedException {
        Seconds seconds = options.streamSeconds();
        int tokens = (int) (seconds.warm() + seconds.measured()) * 1_000_000 / STREAM_PACE.intervalMicros();
        Load streams = Load.SHORT.withConnections(STREAMS).withTokens(tokens).withPace(STREAM_PACE);
        long leasesLost = gateway.leasesLost();
        long cutBefore = fleet.given().cut();
        long before = gateway.processes().residentKib();
        fleet.setPace(streams.pace());
        var resident = new NativeTools.Watch() {
            private long kib;

            @Override
            public void begin() {}

            @Override
            public void end() {
                kib = gateway.processes().residentKib();
            }
        };
        LoadResult result = tools.run(streams, gateway.port(), seconds, resident);
        note("3,000 streams, " + (fleet.given().cut() - cutBefore) + " cut", result);
        figures.put(Figure.STREAM_MEMORY, (double) (resident.kib - before) / STREAMS);
        figures.put(Figure.STREAMS_LOST, (double) result.errors() + result.refused());
        figures.put(Figure.LEASES_LOST, (double) gateway.leasesLost() - leasesLost);
    }

    /** Load until the compiler has seen all that will be measured. */
    void warmUp() throws IOException, InterruptedException {
        double quarter = options.warmUpSeconds() / 4;
        for (Load load : new Load[] {Load.MOST, Load.SHORT, Load.MID, Load.LONG}) {
            fleet.setPace(load == Load.SHORT ? load.pace() : Pace.AT_ONCE);
            note("warm-up", tools.run(load, gateway.port(), new Seconds(quarter / 2, quarter / 2), NOBODY));
        }
    }

    private Cost cost(String title, Load load) throws IOException, InterruptedException {
        fleet.setPace(load.pace());
        var watch = new NativeTools.Watch() {
            private long cpuNanos;
            private long allocatedBytes;

            @Override
            public void begin() {
                measuredNanos -= System.nanoTime();
                foreignNanos -= foreignCpuNanos();
                cpuNanos = -gateway.processes().cpuNanos();
                allocatedBytes = -gateway.allocatedBytes();
            }

            @Override
            public void end() {
                allocatedBytes += gateway.allocatedBytes();
                cpuNanos += gateway.processes().cpuNanos();
                foreignNanos += foreignCpuNanos();
                measuredNanos += System.nanoTime();
            }
        };
        MockFleet.Given before = fleet.given();
        LoadResult result = tools.run(load, gateway.port(), options.seconds(), watch);
        long promptTokens = fleet.given().promptTokensSince(before);
        note(promptTokens == 0 ? title : title + " (" + promptTokens + " prompt tokens)", result);
        return new Cost(result, watch.cpuNanos, watch.allocatedBytes);
    }

    /** Ours are this process and all that it has started. */
    private static long foreignCpuNanos() {
        return ProcessTree.machineCpuNanos() - new ProcessTree(ProcessHandle.current()).cpuNanos();
    }

    static final NativeTools.Watch NOBODY = new NativeTools.Watch() {
        @Override
        public void begin() {}

        @Override
        public void end() {}
    };

    /** What was seen, on standard error: the table is for standard output. */
    private void note(String title, LoadResult result) {
        System.err.printf(Locale.ROOT, "%s, %s: %,.0f requests/s, %,.0f tokens/s, bodies of %,d bytes, first token"
                + " %.2f / %.2f ms, gap %.2f / %.2f / %.1f ms, %d refused, %d bad %s%n", kind.name(), title,
                result.requestsPerSecond(), result.tokens() / result.seconds(), result.bodyBytes(),
                result.firstP50Ms(), result.firstP99Ms(), result.gapP50Ms(), result.gapP99Ms(), result.gapMaxMs(),
                result.refused(), result.errors(), result.firstError());
    }
}
