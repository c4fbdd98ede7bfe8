package dev.warmpath.benchmarks.gateway;

import dev.warmpath.benchmarks.gateway.Load.Pace;
import dev.warmpath.benchmarks.gateway.NativeTools.Seconds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * What the router costs as a gateway, beside nginx and other projects' routers in the same run. Mock workers and clients
 * are programs in C of their own; what they can do without a gateway is printed first. Needs {@code cc} and nginx.
 * <pre>
 * mvn -q -B -DskipTests package dependency:build-classpath -pl benchmarks -am -Dmdep.outputFile=target/classpath
 * java -cp benchmarks/target/classes:$(cat benchmarks/target/classpath) \
 *     dev.warmpath.benchmarks.gateway.GatewayBench --quick
 * </pre>
 * {@code --help} tells the rest. The tables go to standard output, what each load saw to standard error.
 */
public final class GatewayBench {

    private GatewayBench() {}

    public static void main(String[] arguments) throws IOException, InterruptedException {
        if (Arrays.asList(arguments).contains("--help")) {
            System.out.print(Options.help());
            return;
        }
        Options options = Options.parse(arguments);
        Path folder = Files.createTempDirectory("gateway-bench");
        try {
            Path files = Files.createDirectory(folder.resolve("files"));
            Path modelFolder = Files.createDirectory(folder.resolve("model"));
            MockModel model = MockModel.of(options.model(), modelFolder, files);
            NativeTools tools = NativeTools.compile(folder, Words.write(folder.resolve("words")), model.token());
            try (var fleet = new MockFleet(tools, model, files)) {
                printCeilings(tools, fleet);
                var report = new Report();
                for (Gateway gateway : options.gateways()) {
                    try {
                        report.add(gateway.name(), measure(tools, fleet, modelFolder, folder, options, gateway));
                    } catch (IOException e) {
                        System.err.println(gateway.name() + " is left out: " + e.getMessage());
                    }
                }
                report.print();
            }
        } finally {
            delete(folder);
        }
    }

    private static Map<Figure, Double> measure(NativeTools tools, MockFleet fleet, Path model, Path folder,
            Options options, Gateway gateway) throws IOException, InterruptedException {
        try (var running = RunningGateway.start(gateway, fleet, model, folder)) {
            var measurement = new Measurement(tools, fleet, gateway, running, options);
            if (gateway.compilesItself()) {
                measurement.warmUp();
            }
            return measurement.run();
        }
    }

    /** Above what any gateway can reach, or the figures were those of the tools. */
    private static void printCeilings(NativeTools tools, MockFleet fleet) throws IOException, InterruptedException {
        int mock = fleet.ports().getFirst();
        var seconds = new Seconds(0.5, 2);
        fleet.setPace(Pace.AT_ONCE);
        LoadResult most = tools.run(Load.MOST, mock, seconds, Measurement.NOBODY);
        LoadResult longest = tools.run(Load.LONG, mock, seconds, Measurement.NOBODY);
        fleet.setPace(Load.SHORT.pace());
        LoadResult paced = tools.run(Load.SHORT.withConnections(1_000).withTokens(128), mock,
                new Seconds(3, 2), Measurement.NOBODY);
        System.out.printf(Locale.ROOT, "Without a gateway: %,.0f short requests/s, %,.0f long ones;"
                + " 1,000 streams of %,.0f tokens/s in all have gaps of %.1f ms (p50), %.1f (p99) where 10 are set.%n",
                most.requestsPerSecond(), longest.requestsPerSecond(), paced.tokens() / paced.seconds(),
                paced.gapP50Ms(), paced.gapP99Ms());
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
