package dev.warmpath.benchmarks.gateway;

import dev.warmpath.benchmarks.gateway.NativeTools.Seconds;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * What was asked for on the command line.
 *
 * @param subjects      gateways by name
 * @param router        our router's jar
 * @param flags         of our router's virtual machine
 * @param model         folder with a tokenizer
 * @param peers         folder of a Python environment with other projects' routers
 * @param warmUpSeconds of load before a gateway that is compiled while it runs is measured
 * @param seconds       for each row
 */
record Options(List<String> subjects, List<LoadName> loads, Path router, List<String> flags, Path model, Path peers,
        int nginxProcesses, double warmUpSeconds, Seconds seconds) {

    static final String HELP = """
            --subjects A,B   of ours, launcher (ours with the launcher's flags), nginx, smg, vllm-router, dynamo
                             (default: ours,nginx)
            --loads A,B      of short, mid, long, turns, most, gaps, streams (default: all)
            --router JAR     ours (default: router-service/target/router-service-app.jar)
            --jvm "FLAGS"    of ours (default: "%s")
            --model DIR      whose tokenizer is used (default: models/warmpath-tiny)
            --peers DIR      a Python environment with smg, vllm-router or ai-dynamo (default: target/peers)
            --nginx N        its processes (default: 2)
            --warm-up S      seconds of load before ours is measured (default: 60)
            --seconds S      for each row (default: 10)
            --quick          a warm-up of 20 seconds, rows of 4
            """;
    private static final String COMMON_FLAGS =
            "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError --enable-native-access=ALL-UNNAMED -Xmx512m"
            + " -XX:MetaspaceSize=128m --sun-misc-unsafe-memory-access=allow"
            + " -Dio.netty.noUnsafe=false -Dio.netty.leakDetection.level=disabled";
    private static final String QUICK = "--quick";
    private static final Set<String> NAMES = Set.of("--subjects", "--loads", "--router", "--jvm", "--model", "--peers",
            "--nginx", "--warm-up", "--seconds");
    private static final String ALL_LOADS = "short,mid,long,turns,most,gaps,streams";
    private static final String LAUNCHER_FLAGS = COMMON_FLAGS
            + " -XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000"
            + " -XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000";

    static Options parse(String[] arguments) {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i < arguments.length; i++) {
            boolean isFlag = arguments[i].equals(QUICK);
            if (!isFlag && (!NAMES.contains(arguments[i]) || i + 1 == arguments.length)) {
                throw new IllegalArgumentException(arguments[i] + " is no option, or lacks its value\n" + help());
            }
            given.put(arguments[i], isFlag ? "" : arguments[++i]);
        }
        boolean quick = given.containsKey(QUICK);
        return new Options(list(given.getOrDefault("--subjects", "ours,nginx")),
                list(given.getOrDefault("--loads", ALL_LOADS).toUpperCase(Locale.ROOT)).stream()
                        .map(LoadName::valueOf).toList(),
                Path.of(given.getOrDefault("--router", "router-service/target/router-service-app.jar")),
                words(given.getOrDefault("--jvm", COMMON_FLAGS)),
                Path.of(given.getOrDefault("--model", "models/warmpath-tiny")),
                Path.of(given.getOrDefault("--peers", "target/peers")),
                Integer.parseInt(given.getOrDefault("--nginx", "2")),
                Double.parseDouble(given.getOrDefault("--warm-up", quick ? "20" : "60")),
                new Seconds(quick ? 2 : 3, Double.parseDouble(given.getOrDefault("--seconds", quick ? "4" : "10"))));
    }

    static String help() {
        return HELP.formatted(COMMON_FLAGS);
    }

    private static List<String> list(String text) {
        return Arrays.asList(text.split(","));
    }

    private static List<String> words(String text) {
        return Arrays.stream(text.split(" ")).filter(word -> !word.isEmpty()).toList();
    }

    /** 3,000 connections are made one by one, and last longer than the quickest row. */
    Seconds streamSeconds() {
        return new Seconds(6, Math.max(6, seconds.measured()));
    }

    /** In the order in which they are asked for. */
    List<Gateway> gateways() {
        return subjects.stream().map(this::gateway).toList();
    }

    private Gateway gateway(String name) {
        return switch (name) {
            case "ours" -> new Gateway.OurRouter(name, router, flags);
            case "launcher" -> new Gateway.OurRouter(name, router, words(LAUNCHER_FLAGS));
            case "nginx" -> new Gateway.Nginx(name, nginxProcesses);
            case "smg" -> peer(name, "smg launch --host 127.0.0.1 --port {port} --policy cache_aware --log-level warn"
                    + " --prometheus-host 127.0.0.1 --prometheus-port {metrics} --max-concurrent-requests 8192"
                    + " --worker-urls {workers}");
            case "vllm-router" -> peer(name, "vllm-router --host 127.0.0.1 --port {port} --policy cache_aware"
                    + " --log-level warning --prometheus-host 127.0.0.1 --prometheus-port {metrics}"
                    + " --worker-urls {workers}");
            case "dynamo" -> new Gateway.Dynamo(name, peers.resolve("bin/python"));
            default -> throw new IllegalArgumentException(name + " is no gateway that is known here\n" + help());
        };
    }

    /** As it comes, but for its access log, which costs some of them more than the rest. */
    private Gateway peer(String name, String command) {
        return new Gateway.Peer(name, words(peers.resolve("bin") + "/" + command));
    }
}
