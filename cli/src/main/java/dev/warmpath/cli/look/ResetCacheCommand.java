package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.FleetReading.Worker;
import dev.warmpath.cli.terminal.Screen;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code reset-cache}: workers forget their prefixes, each by its own management port, 1000 above the other one. */
@Command(name = "reset-cache", description = "Have one worker or all forget the prefixes that no request holds.")
final class ResetCacheCommand implements Callable<Integer> {

    private final Installation installation;
    private final Screen screen;

    @Mixin
    FleetOptions options = new FleetOptions();

    @Parameters(paramLabel = "ID", arity = "0..1", description = "The worker's id (default: all workers).")
    @Nullable String worker;

    @Option(names = "--json", description = "What was done, as JSON.")
    boolean json;

    ResetCacheCommand(Installation installation, Screen screen) {
        this.installation = installation;
        this.screen = screen;
    }

    /** @param all whether nothing is held any more; null if it was in vain */
    private record Reset(String worker, @Nullable Boolean all, @Nullable String problem) {

        String line() {
            return worker + ": " + (problem != null ? problem : Boolean.TRUE.equals(all) ? "has forgotten all prefixes"
                    : "has forgotten all prefixes but those that requests under way hold");
        }
    }

    private record Done(List<Reset> workers) {}

    @Override
    public Integer call() {
        Fleet fleet = options.fleet(installation);
        List<Worker> meant = FleetReader.known(fleet).stream()
                .filter(each -> worker == null || each.id().equals(worker)).toList();
        if (meant.isEmpty()) {
            throw new CommandException(worker == null ? "no worker has joined" : Drains.unknown(worker, fleet));
        }
        List<Reset> resets = new ArrayList<>();
        meant.forEach(each -> resets.add(reset(each, fleet.secrets())));
        screen.print(json ? Json.lines(new Done(resets)) : resets.stream().map(Reset::line).toList());
        return resets.stream().allMatch(each -> each.problem == null) ? 0 : 1;
    }

    private static Reset reset(Worker worker, Secrets secrets) {
        try {
            HttpServer server = secrets.worker(FleetOptions.managementOf(
                    FleetOptions.checked("what the router says of it,", worker.url())));
            HttpServer.Answer answer = server.ask("POST", "/actuator/reset-cache", "{}");
            if (answer.status() == 404) {
                return new Reset(worker.id(), null, "its engine keeps its cache to itself: reset it there");
            }
            return answer.status() / 100 == 2
                    ? new Reset(worker.id(), HttpServer.JSON.readTree(answer.body()).path("all").asBoolean(false), null)
                    : new Reset(worker.id(), null, answer.status() + ": " + HttpServer.reason(answer));
        } catch (CommandException e) {
            return new Reset(worker.id(), null, e.getMessage());
        }
    }
}
