package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Launches.Launch;
import dev.warmpath.cli.fleet.Role;
import java.net.URI;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The processes of a fleet and their command lines, in the order in which they are started. */
final class FleetPlan {

    /** The fleet page shows prompts in words, unless somebody has said what it is to show. */
    private static final String LIVE_DEMO = "warmpath.live.demo";
    private static final String LIVE_DEMO_VARIABLE = "WARMPATH_LIVE_DEMO";

    /** Of a worker that only passes on: keys of a million blocks, and requests. */
    static final String BESIDE_HEAP = "512m";
    /** Of them at a time, as workers that compute have. */
    private static final String BESIDE_SEQUENCES = "64";
    /** Plenty: streams are trimmed, a checkpoint takes 8 bytes a block. */
    private static final String REDIS_MEMORY = "256mb";

    private final Installation installation;
    private final Wishes wishes;
    private final Ports ports;
    private final Path model;
    private final Preflight.Outlook outlook;
    private final Map<String, String> environment;

    FleetPlan(Installation installation, Wishes wishes, Ports ports, Path model, Preflight.Outlook outlook,
            Map<String, String> environment) {
        this.installation = installation;
        this.wishes = wishes;
        this.ports = ports;
        this.model = model;
        this.outlook = outlook;
        this.environment = environment;
    }

    /** Of each worker that computes. */
    int threads() {
        return Math.max(1, Runtime.getRuntime().availableProcessors() / Math.max(1, outlook.workers()));
    }

    List<Launch> launches(int routerHeapMegabytes) {
        List<Launch> launches = new ArrayList<>();
        if (wishes.redis().equals(Wishes.EMBEDDED)) {
            launches.add(redis());
        }
        for (int index = 0; index < wishes.routers(); index++) {
            launches.add(router(index, routerHeapMegabytes));
        }
        for (int number = 1; number <= outlook.workers(); number++) {
            launches.add(worker(number));
        }
        for (int index = 0; index < wishes.engines().size(); index++) {
            launches.add(beside(outlook.workers() + index + 1, wishes.engines().get(index)));
        }
        return launches;
    }

    private Launch redis() {
        int port = ports.redis();
        return new Launch(Role.REDIS, "redis", port, URI.create("redis://" + Ports.REDIS_HOST + ":" + port),
                List.of("redis-server", "--bind", Ports.REDIS_HOST, "--port", Integer.toString(port), "--save", "",
                        "--appendonly", "no", "--maxmemory", REDIS_MEMORY, "--maxmemory-policy", "noeviction", "--dir",
                        installation.state().toString()));
    }

    private Launch router(int index, int heapMegabytes) {
        int port = ports.router(index);
        List<String> arguments = addresses(port);
        if (showsPrompts(wishes, environment)) {
            arguments.add("--" + LIVE_DEMO + "=true");
        }
        return launch(Service.ROUTER, index == 0 ? "router" : "router-" + (index + 1), port,
                List.of("-Xmx" + heapMegabytes + "m"), arguments);
    }

    /** Whether the fleet page shows prompts in words, since nobody has said anything else. */
    static boolean showsPrompts(Wishes wishes, Map<String, String> environment) {
        return wishes.isOnLoopback() && !environment.containsKey(LIVE_DEMO_VARIABLE)
                && wishes.settings().stream().noneMatch(setting -> setting.name().equals(LIVE_DEMO));
    }

    private Launch worker(int number) {
        int port = ports.worker(number);
        List<String> arguments = addresses(port);
        arguments.addAll(identity(number, port));
        arguments.addAll(List.of("--warmpath.model.directory=" + model, "--warmpath.compute.threads=" + threads(),
                "--warmpath.compute.warm-up=500ms", "--warmpath.compute.backend=" + wishes.backend(),
                "--warmpath.model.context-length=" + outlook.context()));
        Preflight.addIfAny(arguments, "--warmpath.model.quantization=", wishes.quantization());
        Preflight.addIfAny(arguments, "--warmpath.kv.memory=", outlook.kvMemory());
        Preflight.addIfAny(arguments, "--warmpath.model.shared-weights=",
                outlook.share() ? installation.sharedWeights().toString() : "");
        arguments.add("--warmpath.routerlink.urls=" + ports.routerManagements());
        return launch(Service.WORKER, id(number), port, List.of("-Xmx" + outlook.heap(),
                "-XX:MaxNewSize=" + outlook.young(), "-XX:MaxDirectMemorySize=" + outlook.direct()), arguments);
    }

    /** One that stands beside a running engine. */
    private Launch beside(int number, Engine engine) {
        int port = ports.worker(number);
        String sequences = environment.getOrDefault("WARMPATH_ENGINE_MAXNUMSEQS", "");
        List<String> arguments = addresses(port);
        arguments.addAll(identity(number, port));
        arguments.addAll(List.of("--warmpath.engine.kind=" + engine.kind(), "--warmpath.engine.url=" + engine.url(),
                "--warmpath.engine.max-num-seqs=" + (sequences.isEmpty() ? BESIDE_SEQUENCES : sequences),
                "--warmpath.model.directory=" + model));
        // its own is served, not what workers here have memory for
        Preflight.addIfAny(arguments, "--warmpath.model.context-length=", wishes.context());
        arguments.add("--warmpath.routerlink.urls=" + ports.routerManagements());
        return launch(Service.WORKER, id(number), port, List.of("-Xmx" + BESIDE_HEAP), arguments);
    }

    private Launch launch(Service service, String id, int port, List<String> flags, List<String> arguments) {
        List<String> allFlags = new ArrayList<>(service.flags());
        allFlags.addAll(flags);
        return new Launch(service == Service.ROUTER ? Role.ROUTER : Role.WORKER, id, port, ports.url(port),
                service.command(installation, allFlags, Setting.applied(wishes.settings(), service, arguments)));
    }

    private List<String> addresses(int port) {
        return new ArrayList<>(List.of("--server.address=" + wishes.host(), "--server.port=" + port,
                "--management.server.address=" + wishes.host(),
                "--management.server.port=" + (port + FleetMember.MANAGEMENT_OFFSET)));
    }

    private List<String> identity(int number, int port) {
        return List.of("--warmpath.worker.id=" + id(number), "--warmpath.worker.base-url=" + ports.url(port));
    }

    static String id(int number) {
        return "worker-" + number;
    }
}
