package dev.warmpath.cli;

import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.start.FleetEnvironment;
import dev.warmpath.cli.start.Wishes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code index}: has a router's program look at what lies in Redis. */
@Command(name = "index", description = "Read and verify the index that lies in Redis; needs no running router.")
final class IndexCommand implements Callable<Integer> {

    private final Call call;

    @Spec
    CommandSpec spec;

    @Option(names = "--redis", paramLabel = "URI", description = "Which Redis (default: the running fleet's).")
    String redis = "";

    @Option(names = "--json", description = "As JSON.")
    boolean isJson;

    IndexCommand(Call call) {
        this.call = call;
    }

    @Override
    public Integer call() throws IOException {
        Map<String, String> environment = new HashMap<>(call.installation().environment());
        if (redis.isEmpty()) {
            FleetFile fleet = FleetFile.read(call.installation().state());
            if (fleet != null && fleet.members().stream().anyMatch(FleetMember::isRunning)) {
                FleetEnvironment.readRedis(environment, call.installation());
            }
        } else {
            environment.put(FleetEnvironment.REDIS_URI, redis);
        }
        String uri = environment.getOrDefault(FleetEnvironment.REDIS_URI, "");
        if (uri.isEmpty()) {
            throw new CommandException("no fleet with a Redis is running: say which one with --redis URI");
        }
        if (!Wishes.isRedis(uri)) {
            throw new ParameterException(spec.commandLine(), "--redis takes a URI like redis://host:6379");
        }
        List<String> arguments = new ArrayList<>(List.of("index"));
        if (isJson) {
            arguments.add("--json");
        }
        return call.programs().with(environment).show(
                call.command(Service.ROUTER, Service.ROUTER.flags(), "-Xmx512m", arguments));
    }
}
