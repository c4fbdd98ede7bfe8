package dev.warmpath.benchmarks.gateway;

import dev.warmpath.benchmarks.gateway.NativeTools.Seconds;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

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
            --peers DIR      a Python environment with smg, vllm-router and dynamo (default: target/peers)
            --nginx N        its processes (default: 2)
            --warm-up S      seconds of load before ours is measured (default: 60)
            --seconds S      for each row (default: 10)
            --quick          a warm-up of 20 seconds, rows of 4
            """;
    private static final String COMMON_FLAGS =
            "-XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError --enable-native-access=ALL-UNNAMED -Xmx512m";
    private static final String LAUNCHER_FLAGS = COMMON_FLAGS + " -XX:TieredStopAtLevel=1";
    private static final Options DEFAULTS = new Options(List.of("ours", "nginx"), List.of(LoadName.values()),
            Path.of("router-service/target/router-service-app.jar"), words(COMMON_FLAGS), Path.of("models/warmpath-tiny"), Path.of("target/peers"), 2, 60, new Seconds(3, 10));

    static Options parse(String[] arguments) {
        Options options = DEFAULTS;
        for (int i = 0; i < arguments.length; i++) {
            if (arguments[i].equals("--quick")) {
                options = options.withTimes(20, new Seconds(2, 4));
            } else if (i + 1 < arguments.length) {
                options = options.with(arguments[i], arguments[++i]);
            } else {
                throw unknown(arguments[i]);
            }
        }
        return options;
    }

    private Options with(String option, String value) {
        return switch (option) {
            case "--subjects" -> new Options(list(value), loads, router, flags, model, peers, nginxProcesses,
                    warmUpSeconds, seconds);
            case "--loads" -> new Options(subjects, loads(value), router, flags, model, peers, nginxProcesses,
                    warmUpSeconds, seconds);
            case "--router" -> new Options(subjects, loads, Path.of(value), flags, model, peers, nginxProcesses,
                    warmUpSeconds, seconds);
            case "--jvm" -> new Options(subjects, loads, router, words(value), model, peers, nginxProcesses,
                    warmUpSeconds, seconds);
            case "--model" -> new Options(subjects, loads, router, flags, Path.of(value), peers, nginxProcesses,
                    warmUpSeconds, seconds);
            case "--peers" -> new Options(subjects, loads, router, flags, model, Path.of(value), nginxProcesses,
                    warmUpSeconds, seconds);
            case "--nginx" -> new Options(subjects, loads, router, flags, model, peers, Integer.parseInt(value),
                    warmUpSeconds, seconds);
            case "--warm-up" -> withTimes(Double.parseDouble(value), seconds);
            case "--seconds" -> withTimes(warmUpSeconds, new Seconds(seconds.warm(), Double.parseDouble(value)));
            default -> throw unknown(option);
        };
    }

    private Options withTimes(double warmUp, Seconds row) {
        return new Options(subjects, loads, router, flags, model, peers, nginxProcesses, warmUp, row);
    }

    private static IllegalArgumentException unknown(String option) {
        return new IllegalArgumentException(option + " is no option, or lacks its value\n" + help());
    }

    static String help() {
        return HELP.formatted(COMMON_FLAGS);
    }

    private static List<LoadName> loads(String text) {
        return list(text.toUpperCase(Locale.ROOT)).stream().map(LoadName::valueOf).toList();
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

    Gateway gateway(String name) {
        return switch (name) {
            case "ours" -> new Gateway.OurRouter(name, router, flags);
            case "launcher" -> new Gateway.OurRouter(name, router, words(LAUNCHER_FLAGS));
            case "nginx" -> new Gateway.Nginx(name, "nginx", nginxProcesses);
            case "smg" -> peer(name, "smg", "launch", "--host", "127.0.0.1", "--port", "{port}", "--policy",
                    "cache_aware", "--worker-urls", "{workers}");
            case "vllm-router" -> peer(name, "vllm-router", "--host", "127.0.0.1", "--port", "{port}", "--policy",
                    "cache_aware", "--worker-urls", "{workers}");
            default -> throw new IllegalArgumentException(name + " is no gateway that is known here\n" + help());
        };
    }

    private Gateway peer(String name, String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(peers.resolve("bin").resolve(program).toString()));
        command.addAll(Arrays.asList(arguments));
        return new Gateway.Peer(name, command);
    }
}
