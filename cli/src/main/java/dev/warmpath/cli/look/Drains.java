package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.look.Fleet.Router;
import dev.warmpath.cli.look.FleetReading.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Tells every router of a fleet to send a worker nothing new, or to do so again. */
final class Drains {

    private Drains() {}

    /**
     * What one router was told.
     *
     * @param problem why it was in vain; null: it was not
     */
    record Told(String router, @Nullable String problem) {}

    /** @param idle whether that was waited for, and it has no requests any more */
    record Done(String worker, boolean drained, boolean idle, List<Told> routers) {

        /** @param sentence what is true where it was not in vain */
        List<String> lines(String sentence) {
            return routers.stream().map(each -> each.router + ": "
                    + (each.problem == null ? sentence : each.problem)).toList();
        }

        int status() {
            return routers.stream().allMatch(each -> each.problem == null) ? 0 : 1;
        }
    }

    /**
     * @param method PUT or DELETE
     * @return a line of each router, in order; at least one was told
     * @throws CommandException if no router knows the worker, or the token is wrong
     */
    static List<Told> tell(Fleet fleet, String worker, String method) {
        String path = "/internal/v1/workers/" + HttpServer.segment(worker) + "/drain";
        List<Told> told = new ArrayList<>();
        boolean unknown = false;
        for (Router router : fleet.routers()) {
            String url = router.management().url().toString();
            try {
                HttpServer.Answer answer = router.management().ask(method, path, null);
                unknown |= answer.status() == 404;
                told.add(new Told(url, answer.status() / 100 == 2 ? null
                        : answer.status() == 404 ? "does not know " + worker
                        : answer.status() + ": " + HttpServer.reason(answer)));
            } catch (CommandException e) {
                told.add(new Told(url, e.getMessage()));
            }
        }
        if (told.stream().allMatch(each -> each.problem() != null)) {
            throw new CommandException(unknown ? unknown(worker, fleet) : told.getFirst().problem());
        }
        return told;
    }

    /** The sentence for an id that nobody has. */
    static String unknown(String worker, Fleet fleet) {
        return "there is no worker '" + worker + "': " + FleetReader.known(fleet).stream().map(Worker::id)
                .collect(Collectors.collectingAndThen(Collectors.joining(", "),
                        ids -> ids.isEmpty() ? "no worker has joined" : "there are " + ids));
    }
}
