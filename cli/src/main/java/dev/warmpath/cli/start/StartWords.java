package dev.warmpath.cli.start;

import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.FleetMember;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Management;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What {@code up} says of a fleet: what is started, where it is, who may use it, what to try. */
final class StartWords {

    private static final Duration PATIENCE = Duration.ofSeconds(30);
    /** A worker's, 0 while what its engine tells of its cache is not followed. */
    private static final Pattern NOT_FOLLOWED =
            Pattern.compile("(?m)^warmpath_foreign_events_following\\{[^}]*} 0");

    private final Wishes wishes;
    private final Ports ports;
    private final Installation installation;
    private final Progress progress;

    StartWords(Wishes wishes, Ports ports, Installation installation, Progress progress) {
        this.wishes = wishes;
        this.ports = ports;
        this.installation = installation;
        this.progress = progress;
    }

    void begins(Preflight.Outlook outlook, int threads) {
        if (outlook.workers() > 0) {
            progress.say("starting %d router(s) and %d worker(s) with %d compute thread(s) each, backend %s ..."
                    .formatted(wishes.routers(), outlook.workers(), threads, wishes.backend()));
            progress.say("each worker: " + outlook.summary());
        } else {
            progress.say("starting %d router(s) ...".formatted(wishes.routers()));
        }
        wishes.engines().forEach(engine -> progress.say("beside a running engine: " + engine));
    }

    /** @param modelName null: the API asks for keys, and was not tried */
    void isReady(Duration after, FleetFile fleet, Management management, Path model, @Nullable String modelName) {
        progress.say("ready after " + after.toSeconds() + " s: "
                + ports.routerUrls().stream().map(URI::toString).collect(Collectors.joining(" ")));
        if (!wishes.isOnLoopback()) {
            progress.say(whoMay());
        }
        tellWhatIsAssumed(fleet, management, model);
        progress.say(modelName == null ? "The API asks for a key of " + installation.variable("WARMPATH_APIKEYS_FILE")
                + "; no completion was tried." : whatToTry(modelName));
    }

    private String whoMay() {
        boolean hasKeys = !installation.variable("WARMPATH_APIKEYS_FILE").isEmpty();
        return """

            Open to whoever reaches %s, and nothing is encrypted:
              %s the API (routers' ports, the first is %d)
              without any key             on management ports (+ %d), to read: health, metrics, workers, prefixes and
                                          decisions, but no prompt and no answer
              with the fleet's token      registrations as a worker, and requests to workers; it is in %s
              with the operators' token   changes on management ports: drain, weigh, pin, reset-cache; it is in %s
            %s""".formatted(wishes.host(), hasKeys ? "with a key of yours        " : "without any key            ",
                wishes.port(), FleetMember.MANAGEMENT_OFFSET, installation.fleetToken(), installation.managementToken(),
                hasKeys ? "" : "Make the API ask for a key (./warmpath key), or put something before it that does.");
    }

    /** Beside which engines workers know nothing but what was sent there. */
    private void tellWhatIsAssumed(FleetFile fleet, Management management, Path model) {
        int first = fleet.members().size() - wishes.engines().size();
        for (int index = 0; index < wishes.engines().size(); index++) {
            FleetMember worker = fleet.members().get(first + index);
            Management.Answer meters = Management.within(PATIENCE,
                    management.get(worker.management("/actuator/prometheus")));
            if (meters != null && NOT_FOLLOWED.matcher(meters.body()).find()) {
                progress.say("warning: the engine of " + worker.id() + " tells nothing of its cache, and is taken to "
                        + "hold what it was sent; why, says: ./warmpath doctor --engine " + wishes.engines().get(index)
                        + " --model " + model);
            }
        }
    }

    private String whatToTry(String modelName) {
        boolean showsPrompts = FleetPlan.showsPrompts(wishes, installation.environment());
        return """

            Try:
              curl -s %1$s/v1/chat/completions -H 'content-type: application/json' \\
                -d '{"model":"%2$s","messages":[{"role":"user","content":"What is a KV cache?"}]}'

            Again with a long beginning, and the second answer comes sooner, from the same worker, with cached_tokens
            above 0. Why a request goes where it goes: POST the same body to /v1/route, or ./warmpath explain FILE

            The fleet page, live%4$s: %3$s/%5$s
            """.formatted(ports.url(wishes.port()), modelName,
                ports.url(wishes.port() + FleetMember.MANAGEMENT_OFFSET), showsPrompts ? ", with prompts in words" : "",
                showsPrompts ? "  (hide them by WARMPATH_LIVE_DEMO=false)" : "");
    }
}
