package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.Installation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A program that is built when it is needed: its module, and the flags of its JVM. {@link #FLEET} are the services.
 *
 * <p>These run on both compilers: the first one alone makes a router's request cost twice as much, and a worker's
 * Vector API code 34 times. In a router the second one takes up a method after ten times as many calls as it would:
 * else it takes half of a start's processor time, on cores that the workers need then. Load gets there within a minute.
 * Netty's buffers are plain memory, as before JDK 24: a request costs a sixth less, as measured; none is traced for
 * leaks. A router's classes take 100 MB: as many do not make it stop for a whole collection, which is two of 50 and 85
 * ms less.
 */
public enum Service {

    ROUTER("router-service", List.of("-XX:Tier4InvocationThreshold=50000", "-XX:Tier4MinInvocationThreshold=6000",
            "-XX:Tier4CompileThreshold=150000", "-XX:Tier4BackEdgeThreshold=400000", "-XX:MetaspaceSize=128m",
            "--sun-misc-unsafe-memory-access=allow", "-Dio.netty.noUnsafe=false",
            "-Dio.netty.leakDetection.level=disabled")),
    WORKER("worker-agent", List.of("--add-modules", "jdk.incubator.vector")),
    /** Simulations side by side. What is new dies at once: a small part of the heap for it stays in touched memory. */
    PLANNER("planner", List.of("-XX:-UseSerialGC", "-XX:+UseParallelGC", "-XX:MaxNewSize=256m"));

    /** What a fleet is made of. */
    public static final List<Service> FLEET = List.of(ROUTER, WORKER);

    private static final List<String> COMMON =
            List.of("-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "--enable-native-access=ALL-UNNAMED");
    private static final List<String> SHARED_MODULES =
            List.of("kv-protocol", "tokenization", "redis-link", "service-process");
    private static final List<String> PLANNED_WITH = List.of("router-service", "worker-agent", "workload", "capacity");

    private final String module;
    private final List<String> flags;

    Service(String module, List<String> flags) {
        this.module = module;
        this.flags = flags;
    }

    public String module() {
        return module;
    }

    /** All that it is made of, itself too. */
    List<String> modules() {
        return Stream.of(SHARED_MODULES, this == PLANNER ? PLANNED_WITH : List.<String>of(), List.of(module))
                .flatMap(List::stream).toList();
    }

    /** Of every JVM that runs a program of ours. */
    public static List<String> commonFlags() {
        return COMMON;
    }

    public List<String> flags() {
        return Stream.concat(COMMON.stream(), flags.stream()).toList();
    }

    /** As Maven packs it. */
    public Path jar(Installation installation) {
        return installation.home().resolve(module).resolve("target").resolve(module + "-app.jar");
    }

    /** Unpacked, with the archive of its classes. */
    Path folder(Installation installation) {
        return installation.home().resolve(module).resolve("target/app");
    }

    Path unpackedJar(Installation installation) {
        return folder(installation).resolve(module + "-app.jar");
    }

    Path archive(Installation installation) {
        return folder(installation).resolve("app.jsa");
    }

    /**
     * Java, its flags, and what to run; the packed jar if preparing it has failed. A JVM that cannot use the archive,
     * or parts of it as with --add-modules, starts more slowly and need not tell.
     *
     * @param flags     of the JVM
     * @param arguments of the program
     */
    public List<String> command(Installation installation, List<String> flags, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(Jdk.tool("java")));
        command.addAll(flags);
        if (Preparation.isDone(this, installation) && Files.exists(archive(installation))) {
            command.addAll(List.of("-XX:SharedArchiveFile=" + archive(installation), "-Xlog:cds=off,aot=off", "-jar",
                    unpackedJar(installation).toString()));
        } else {
            command.addAll(List.of("-jar", jar(installation).toString()));
        }
        command.addAll(arguments);
        return command;
    }
}
