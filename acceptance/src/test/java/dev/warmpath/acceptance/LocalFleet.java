package dev.warmpath.acceptance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Routers and workers as processes of their own on this machine. Ports are laid out as {@code ./warmpath up} does it:
 * routers on P, P + 100 …, workers on P + 1 …, management on each + 1000. Numbers start at 1. Closing ends every
 * process that was started.
 */
final class LocalFleet implements AutoCloseable {

    static final String MODEL = "warmpath-tiny";
    /** A router's setting for tests that are not about leases: none ends because the machine is held up. */
    static final String LONG_LEASE = "--warmpath.fleet.lease-duration=1h";
    /** Nobody is refused because this machine is slow. */
    static final String LONG_WAIT = "--warmpath.admission.max-wait=10m";
    static final int BLOCK_SIZE = 16;

    static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** The launcher's, for a router. */
    static final List<String> ROUTER_FLAGS = List.of("-XX:+UseSerialGC", "-XX:Tier4InvocationThreshold=50000",
            "-XX:Tier4MinInvocationThreshold=6000", "-XX:Tier4CompileThreshold=150000",
            "-XX:Tier4BackEdgeThreshold=400000");
    /** Those of every router, in images, too: how its classes and its connections get their memory. */
    static final List<String> MEMORY_FLAGS = List.of("-XX:MetaspaceSize=128m",
            "--sun-misc-unsafe-memory-access=allow", "-Dio.netty.noUnsafe=false",
            "-Dio.netty.leakDetection.level=disabled");
    private static final Path LOGS = Path.of("target", "fleet-logs");
    private static final int MANAGEMENT_OFFSET = 1000;
    private static final int ROUTER_OFFSET = 100;
    private static final int REDIS_OFFSET = 900;

    private static final Queue<DatagramSocket> RESERVED = new ConcurrentLinkedQueue<>();

    private final Path model;
    private final int port;
    private List<String> routerSettings;
    private List<String> workerSettings;
    private final List<Process> routers = new ArrayList<>();
    private final List<Process> workers = new ArrayList<>();

    /** A router's settings with which nothing ends and nobody is given up or refused because the machine is held up. */
    static List<String> patient(String... others) {
        List<String> settings = new ArrayList<>(List.of(LONG_LEASE, LONG_WAIT,
                "--warmpath.dispatch.first-token-timeout=10m", "--warmpath.dispatch.inter-token-timeout=10m",
                "--warmpath.dispatch.least-first-token-timeout=10m"));
        settings.addAll(List.of(others));
        return settings;
    }

    /** Starts one router and its workers, and returns when it knows every worker as ready. */
    static LocalFleet start(int workerCount) {
        return start(1, workerCount, List.of(), List.of());
    }

    /**
     * The same with several routers, each of which knows every worker; settings as on the command line, and options of the
     * JVM, which begin with one dash.
     */
    static LocalFleet start(int routerCount, int workerCount, List<String> routerSettings,
            List<String> workerSettings) {
        return start(routerCount, workerCount, routerSettings, workerSettings, ROOT.resolve("models").resolve(MODEL));
    }

    /** The same with another model, in a directory of the usual one's name. */
    static LocalFleet start(int routerCount, int workerCount, List<String> routerSettings,
            List<String> workerSettings, Path model) {
        return new LocalFleet(routerCount, workerCount, routerSettings, workerSettings, model);
    }

    private LocalFleet(int routerCount, int workerCount, List<String> routerSettings, List<String> workerSettings,
            Path model) {
        this.model = model;
        this.port = freePortRange(routerCount, workerCount);
        this.routerSettings = routerSettings;
        this.workerSettings = workerSettings;
        try {
            for (int i = 1; i <= routerCount; i++) {
                routers.add(startRouter(i, routerCount));
            }
            for (int i = 1; i <= workerCount; i++) {
                workers.add(startWorker(i));
            }
            awaitReady(workerCount);
        } catch (RuntimeException | Error e) {
            close();
            throw e;
        }
    }

    /** Waits until every router knows so many workers as ready, neither more nor fewer. */
    void awaitReady(int workerCount) {
        Await.until(workerCount + " workers are ready", () -> {
            requireAlive();
            return gateways().stream()
                    .allMatch(router -> router.answers() && router.readyWorkers().size() == workerCount);
        });
    }

    /** The only router, or the first. */
    Gateway gateway() {
        return gateways().getFirst();
    }

    /** All routers, the ones that are down too. */
    List<Gateway> gateways() {
        return IntStream.range(0, routers.size())
                .mapToObj(i -> new Gateway(local(routerPort(i + 1)), local(routerPort(i + 1) + MANAGEMENT_OFFSET)))
                .toList();
    }

    static String workerId(int number) {
        return "worker-" + number;
    }

    URI workerUrl(int number) {
        return local(port + number);
    }

    URI workerManagement(int number) {
        return local(port + number + MANAGEMENT_OFFSET);
    }

    /** Ends a worker at once, as a crash would. @param number 1 for the first */
    void kill(int number) throws InterruptedException {
        workers.get(number - 1).destroyForcibly().waitFor();
    }

    void killRouter(int number) throws InterruptedException {
        routers.get(number - 1).destroyForcibly().waitFor();
    }

    /** Tells a router to stop, as an operator would, and waits until it has ended. */
    void stopRouter(int number) throws InterruptedException {
        stop(routers.get(number - 1));
    }

    void stopWorker(int number) throws InterruptedException {
        stop(workers.get(number - 1));
    }

    private static void stop(Process process) throws InterruptedException {
        process.destroy();
        process.waitFor();
    }

    URI routerUrl(int number) {
        return local(routerPort(number));
    }

    URI routerManagement(int number) {
        return local(routerPort(number) + MANAGEMENT_OFFSET);
    }

    /** What processes are started with from now on, in place of what the fleet was started with. */
    void changeSettings(List<String> routers, List<String> workers) {
        routerSettings = routers;
        workerSettings = workers;
    }

    void restartRouter(int number) {
        routers.set(number - 1, startRouter(number, routers.size()));
    }

    /** Starts one more worker beside the others. @param settings win over the usual ones */
    void addWorker(String... settings) {
        int number = workers.size() + 1;
        workers.add(startWorker(number, settings));
    }

    void restartWorker(int number) {
        workers.set(number - 1, startWorker(number));
    }

    ProcessHandle routerProcess() {
        return routers.getFirst().toHandle();
    }

    ProcessHandle workerProcess(int number) {
        return workers.get(number - 1).toHandle();
    }

    @Override
    public void close() {
        List<Process> all = new ArrayList<>(routers);
        all.addAll(workers);
        all.forEach(Process::destroy);
        for (Process process : all) {
            try {
                if (!process.waitFor(10, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException e) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }

    /** With the flags of the launcher: what is measured here is what runs there. */
    private Process startRouter(int number, int routerCount) {
        String id = routerCount == 1 ? "router" : "router-" + number;
        List<String> flags = Stream.of(ROUTER_FLAGS, MEMORY_FLAGS, List.of("-Xmx512m"))
                .flatMap(List::stream).toList();
        return launch(id, flags, ROOT.resolve("router-service/target/router-service-app.jar"), routerPort(number), routerSettings);
    }

    private Process startWorker(int number, String... settings) {
        String routerUrls = IntStream.rangeClosed(1, routers.size())
                .mapToObj(router -> local(routerPort(router) + MANAGEMENT_OFFSET).toString())
                .collect(Collectors.joining(","));
        List<String> arguments = new ArrayList<>(workerSettings);
        arguments.addAll(List.of(
                "--warmpath.worker.base-url=" + local(port + number),
                "--warmpath.model.directory=" + model,
                "--warmpath.compute.backend=vector",       // tests assert exact tokens, which no GPU promises
                "--warmpath.compute.threads=1",
                "--warmpath.compute.longest-step=1h",
                "--warmpath.routerlink.urls=" + routerUrls));
        arguments.add("--warmpath.worker.id=" + workerId(number));
        for (String setting : settings) {
            String name = setting.substring(0, setting.indexOf('=') + 1);
            arguments.removeIf(usual -> usual.startsWith(name));       // said twice it would be a list of both
            arguments.add(setting);
        }
        return launch(workerId(number), List.of("-XX:+UseSerialGC", "-Xmx1g", "--add-modules", "jdk.incubator.vector"),
                ROOT.resolve("worker-agent/target/worker-agent-app.jar"), port + number, arguments);
    }

    private Process launch(String id, List<String> jvmFlags, Path jar, int processPort, List<String> arguments) {
        if (!Files.exists(jar)) {
            throw new IllegalStateException(jar + " is missing: these tests run the packaged services (mvn verify)");
        }
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmFlags);
        command.addAll(List.of("--enable-native-access=ALL-UNNAMED", "-XX:+ExitOnOutOfMemoryError"));
        arguments.stream().filter(argument -> !argument.startsWith("--")).forEach(command::add);
        command.addAll(List.of("-jar", jar.toString(),
                "--server.port=" + processPort, "--management.server.port=" + (processPort + MANAGEMENT_OFFSET)));
        arguments.stream().filter(argument -> argument.startsWith("--")).forEach(command::add);
        try {
            Files.createDirectories(LOGS);
            var builder = new ProcessBuilder(command);
            // of tests, and no settings, of which a service would complain
            builder.environment().keySet().removeIf(name -> name.startsWith("WARMPATH_TEST_"));
            builder.environment().putIfAbsent("WARMPATH_DRAIN_SETTLE", "0s");     // a setting of the test wins over it
            return builder
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(LOGS.resolve(port + "-" + id + ".log").toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void requireAlive() {
        if (!Stream.concat(routers.stream(), workers.stream()).allMatch(Process::isAlive)) {
            throw new IllegalStateException("a process has ended; logs: " + LOGS.toAbsolutePath());
        }
    }

    private int routerPort(int number) {
        return port + ROUTER_OFFSET * (number - 1);
    }

    private static URI local(int port) {
        return URI.create("http://127.0.0.1:" + port);
    }

    /**
     * Reserves ports for as long as this process lives: other tests on this machine get different ones.
     * @return P such that the ports of all routers and workers are free, those for management and an own Redis too
     */
    static int freePortRange(int routerCount, int workerCount) {
        var random = new SplittableRandom();
        for (int attempt = 0; attempt < 100; attempt++) {
            int base = random.nextInt(20_000, 30_000);
            if (reserve(ports(base, routerCount, workerCount))) {
                return base;
            }
        }
        throw new IllegalStateException(
                "no free ports for " + routerCount + " routers and " + workerCount + " workers");
    }

    private static List<Integer> ports(int base, int routerCount, int workerCount) {
        List<Integer> ports = new ArrayList<>(List.of(base + REDIS_OFFSET));
        IntStream.concat(IntStream.range(0, routerCount).map(i -> base + ROUTER_OFFSET * i),
                        IntStream.rangeClosed(base + 1, base + workerCount))
                .forEach(port -> ports.addAll(List.of(port, port + MANAGEMENT_OFFSET)));
        return ports;
    }

    /**
     * One port that may be given up and taken again. The system's own choice would not do: it gives such ports to
     * clients, even to one that tries to reach that very port while nobody listens, and which then talks to itself.
     */
    static int freePort() {
        return freePortRange(1, 0);
    }

    /** All or none. The TCP port is for the process to come, so its namesake among the UDP ports is what is held. */
    private static boolean reserve(List<Integer> ports) {
        List<DatagramSocket> held = new ArrayList<>();
        for (int port : ports) {
            try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                held.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
            } catch (IOException e) {
                held.forEach(DatagramSocket::close);
                return false;
            }
        }
        RESERVED.addAll(held);
        return true;
    }
}
