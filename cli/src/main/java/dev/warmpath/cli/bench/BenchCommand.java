package dev.warmpath.cli.bench;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Role;
import dev.warmpath.cli.terminal.Screen;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Iterator;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import tools.jackson.core.json.JsonWriteFeature;

/** {@code bench}: puts load on a router, or any server of OpenAI's API, and says what came of it. */
@Command(name = "bench", description = {"Put load on a router, or any server of OpenAI's API, and measure.",
        "Time to the first token and between tokens, throughput, cache hits, errors. Ctrl-C ends it, and prints what"
                + " there is so far."})
public final class BenchCommand implements Callable<Integer> {

    private static final int USUAL_CONCURRENCY = 8;
    private static final long USUAL_REQUESTS = 200;
    /** Seeds that a person can type. */
    private static final long SEEDS = 1_000_000;

    private final Installation installation;
    private final Screen screen;

    @Spec
    CommandSpec spec = CommandSpec.create();

    @Option(names = "--url", paramLabel = "URL",
            description = "The server, such as http://127.0.0.1:8000 (default: the router that 'up' has started).")
    @Nullable URI url;

    @Option(names = "--key", paramLabel = "KEY", description = "A key of the API (default: WARMPATH_API_KEY).")
    @Nullable String key;

    @Option(names = "--model", paramLabel = "NAME", description = "The model (default: the first that is served).")
    @Nullable String model;

    @Option(names = "--load", paramLabel = "NAME", defaultValue = Load.USUAL, completionCandidates = Names.class,
            description = "What clients do: ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    String load = Load.USUAL;

    @Option(names = "--trace", paramLabel = "FILE",
            description = "Requests of a trace in Mooncake's format, in place of --load; .gz is unpacked.")
    @Nullable Path trace;

    @Option(names = "--concurrency", paramLabel = "N",
            description = "Closed loop: so many clients, each waits for its answer and sends the next at once"
                    + " (default: " + USUAL_CONCURRENCY + ").")
    @Nullable Integer concurrency;

    @Option(names = "--rate", paramLabel = "R",
            description = "Open loop: R requests in a second on average, at random (Poisson), or as the trace has them,"
                    + " quicker or slower.")
    @Nullable Double rate;

    @Option(names = "--speed", paramLabel = "S",
            description = "Open loop: requests come when the trace has them, S times as quickly (default of a trace,"
                    + " unless --concurrency or --rate is given: 1).")
    @Nullable Double speed;

    @Option(names = "--requests", paramLabel = "N", description = "End after so many (default: all of a trace, else "
            + USUAL_REQUESTS + ", or no limit with --duration).")
    @Nullable Long requests;

    @Option(names = "--duration", paramLabel = "SECONDS", description = "Send nothing new after so long.")
    @Nullable Double durationSeconds;

    @Option(names = "--warm-up", paramLabel = "N", defaultValue = "0",
            description = "Send so many requests before those that are measured (default: ${DEFAULT-VALUE}).")
    long warmUp;

    @Option(names = "--seed", paramLabel = "N",
            description = "The same load again; another seed shares no prompt with it (default: drawn, and said).")
    @Nullable Long seed;

    @Option(names = "--scale", paramLabel = "S",
            description = "Length of prompts and answers, as a share of what is drawn (default: 1, or less so that the"
                    + " longest fits into the model's context).")
    @Nullable Double scale;

    @Option(names = "--text", description = "Send text also where token ids are taken: the server's tokenizer is"
            + " measured, too.")
    boolean text;

    @Option(names = "--slo", paramLabel = "LIMITS", converter = Slo.Converter.class,
            description = "What a good answer keeps: ttft=200ms,itl=50ms,e2e=5s, or some of them.")
    @Nullable Slo slo;

    @Option(names = "--timeout", paramLabel = "SECONDS", defaultValue = "600",
            description = "An answer that takes longer has failed (default: ${DEFAULT-VALUE}).")
    long timeoutSeconds;

    @Option(names = "--fail-under", paramLabel = "SHARE", defaultValue = "1",
            description = "Status 1 if a smaller share of the requests was answered, 0 to 1 (default:"
                    + " ${DEFAULT-VALUE}: if any failed).")
    double failUnder;

    @Option(names = "--json", description = "The result as JSON.")
    boolean json;

    static final class Names implements Iterable<String> {

        @Override
        public Iterator<String> iterator() {
            return Load.names().iterator();
        }
    }

    public BenchCommand(Installation installation) {
        this(installation, Screen.standard());
    }

    BenchCommand(Installation installation, Screen screen) {
        this.installation = installation;
        this.screen = screen;
    }

    @Override
    public Integer call() throws InterruptedException {
        check();
        long drawn = seed == null ? new SplittableRandom().nextLong(SEEDS) : seed;
        @Nullable Load sessions = trace == null ? Load.drawn(load, drawn) : Load.traced(trace);
        if (sessions == null) {
            throw wrong("--load " + load + " is none of " + String.join(", ", Load.names()));
        }
        try (var server = new OpenAiServer(url(), key(), Duration.ofSeconds(timeoutSeconds), System::nanoTime)) {
            Served served = Served.find(server, model, !text);
            Scale scaled = scale != null ? Scale.times(scale, sessions.pieceTokens())
                    : Scale.fitting(sessions.longestTokens(), served.contextTokens(), sessions.pieceTokens());
            int shortest = sessions.shortestTokens(scaled);
            if (served.contextTokens() > 0 && shortest > served.contextTokens()) {
                throw new CommandException("no request of " + sessions.name() + " fits: the shortest takes " + shortest
                        + " tokens, and the context of " + served.model() + " has " + served.contextTokens()
                        + "; take " + (scale == null ? "" : "a smaller --scale, or ") + "another load");
            }
            return measure(server, served, sessions, scaled, plan(sessions, drawn));
        }
    }

    private LoadRun.Plan plan(Load sessions, long drawn) {
        @Nullable Long all = sessions.requests();
        long most = requests != null ? requests + warmUp : all != null ? all
                : durationSeconds == null ? USUAL_REQUESTS + warmUp : Long.MAX_VALUE;
        return new LoadRun.Plan(pace(sessions), most,
                durationSeconds == null ? null : Duration.ofMillis((long) (durationSeconds * 1_000)), warmUp, drawn);
    }

    private Pace pace(Load sessions) {
        if (rate != null) {
            return trace == null ? new Pace.AtRandom(rate) : new Pace.Recorded(rate / sessions.sessionsPerSecond());
        }
        if (concurrency == null && trace != null) {
            return new Pace.Recorded(speed == null ? 1 : speed);
        }
        return new Pace.Clients(concurrency == null ? USUAL_CONCURRENCY : concurrency);
    }

    private int measure(OpenAiServer server, Served served, Load sessions, Scale scaled, LoadRun.Plan plan)
            throws InterruptedException {
        var measurements = new Measurements(slo);
        var run = new LoadRun(server, served, sessions, scaled, plan, measurements, System::nanoTime);
        if (!json) {
            screen.print(BenchPage.beginning(report(server, served, sessions, scaled, plan, false, measurements)));
        }
        long begin = System.nanoTime();
        var progress = new Progress(System.err, Screen.errors(), measurements, () -> done(plan, measurements, begin));
        var told = new AtomicBoolean();
        Consumer<Boolean> tell = interrupted -> {
            synchronized (told) {                                  // who comes second finds all of it printed
                progress.close();
                if (told.compareAndSet(false, true)) {
                    print(report(server, served, sessions, scaled, plan, interrupted, measurements), measurements);
                }
            }
        };
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            run.stop();
            tell.accept(true);
        }));
        run.run();
        tell.accept(false);
        BenchReport.Requests requests = measurements.results().requests();
        return requests.answered() > 0 && requests.answered() >= failUnder * requests.sent() ? 0 : 1;
    }

    private static double done(LoadRun.Plan plan, Measurements measurements, long begin) {
        double byCount = (double) measurements.ended() / plan.requests();
        double byTime = plan.duration() == null ? 0 : (System.nanoTime() - begin) / (double) plan.duration().toNanos();
        return Math.clamp(Math.max(byCount, byTime), 0, 1);
    }

    private BenchReport report(OpenAiServer server, Served served, Load sessions, Scale scaled, LoadRun.Plan plan,
            boolean interrupted, Measurements measurements) {
        @Nullable Integer clients = null;
        @Nullable Double perSecond = null;
        @Nullable Double times = null;
        switch (plan.pace()) {
            case Pace.Clients(int count) -> clients = count;
            case Pace.AtRandom(double wanted) -> perSecond = wanted;
            case Pace.Recorded(double quicker) -> {
                times = quicker;
                perSecond = quicker * sessions.sessionsPerSecond();
            }
        }
        return new BenchReport(server.url().toString(), served.model(), sessions.name(), plan.seed(),
                served.spelling().text(), served.contextTokens(), scaled.factor(), clients, perSecond, times,
                interrupted, measurements.results());
    }

    private void print(BenchReport report, Measurements measurements) {
        screen.print(json
                ? OpenAiServer.JSON.writerWithDefaultPrettyPrinter().with(JsonWriteFeature.ESCAPE_NON_ASCII)
                        .writeValueAsString(report).lines().toList()
                : BenchPage.lines(report, measurements.firstError(), screen.width()));
    }

    private void check() {
        if (concurrency != null && rate != null) {
            throw wrong("--concurrency is a closed loop and --rate an open one: give one of them");
        }
        if (speed != null && (trace == null || concurrency != null || rate != null)) {
            throw wrong("--speed is of a --trace that is sent by its own times, without --concurrency or --rate");
        }
        if (concurrency != null && (concurrency < 1 || concurrency > LoadRun.MOST_CLIENTS)) {
            throw wrong("--concurrency is " + concurrency + ", and must be 1 to " + LoadRun.MOST_CLIENTS);
        }
        positive("--rate", rate);
        positive("--speed", speed);
        positive("--duration", durationSeconds);
        positive("--scale", scale);
        positive("--requests", requests == null ? null : (double) requests);
        positive("--timeout", (double) timeoutSeconds);
        if (warmUp < 0 || warmUp > Integer.MAX_VALUE) {
            throw wrong("--warm-up is " + warmUp + ", and must be 0 to " + Integer.MAX_VALUE);
        }
        if (!(failUnder >= 0 && failUnder <= 1)) {
            throw wrong("--fail-under is " + failUnder + ", and must be 0 to 1");
        }
    }

    private void positive(String option, @Nullable Double value) {
        if (value != null && !(value > 0 && value < Integer.MAX_VALUE)) {
            throw wrong(option + " is " + value + ", and must be above 0");
        }
    }

    private ParameterException wrong(String sentence) {
        return new ParameterException(spec.commandLine(), sentence);
    }

    private URI url() {
        if (url == null) {
            @Nullable FleetFile fleet = FleetFile.read(installation.state());
            if (fleet == null || fleet.of(Role.ROUTER).isEmpty()) {
                throw new CommandException("no fleet is running here (" + installation.state()
                        + " names none): start one by ./warmpath up, or name a server by --url URL");
            }
            return fleet.of(Role.ROUTER).getFirst().url();
        }
        boolean http = "http".equals(url.getScheme()) || "https".equals(url.getScheme());
        if (!http || url.getHost() == null) {
            throw wrong("--url " + url + " is no URL of a server: write http://HOST:PORT");
        }
        return URI.create(url.getScheme() + "://" + url.getRawAuthority());
    }

    private @Nullable String key() {
        String variable = installation.variable("WARMPATH_API_KEY");
        return key != null ? key : variable.isBlank() ? null : variable.strip();
    }
}
