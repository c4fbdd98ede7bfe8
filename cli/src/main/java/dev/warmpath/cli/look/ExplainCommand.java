package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.look.Fleet.Router;
import dev.warmpath.cli.terminal.Screen;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code explain}: where a request would go and why, or where one went and what came of it. Nothing is computed. */
@Command(name = "explain", description = {"Show where a request would go and why, or where one went.",
        "With what each candidate would cost, and how much of the prompt it holds. Nothing is computed."})
final class ExplainCommand implements Callable<Integer> {

    /** What routers take at most, by default. */
    private static final int MOST_BYTES = 16 << 20;
    private static final String STANDARD_INPUT = "-";

    private final Installation installation;
    private final Screen screen;

    @Mixin
    FleetOptions options = new FleetOptions();

    @Spec
    CommandSpec spec = CommandSpec.create();

    @ArgGroup(exclusive = true)
    Subject subject = new Subject();

    /** One of them. */
    static final class Subject {

        @Parameters(paramLabel = "FILE", arity = "0..1",
                description = "A body as of /v1/chat/completions or /v1/completions; - reads it from the input.")
        @Nullable String file;

        @Option(names = "--prompt", paramLabel = "TEXT", description = "A prompt, in place of a body.")
        @Nullable String prompt;

        @Option(names = "--request", paramLabel = "ID",
                description = "A past request, by the x-request-id of its answer: what was expected of the worker, and"
                        + " what was found.")
        @Nullable String request;
    }

    @Option(names = "--model", paramLabel = "NAME", description = "The model (default: the body's, or the first that is"
            + " served).")
    @Nullable String model;

    @Option(names = "--key", paramLabel = "KEY",
            description = "An operator's key of the API (default: WARMPATH_API_KEY).")
    @Nullable String key;

    @Option(names = "--json", description = "The router's own answer.")
    boolean json;

    ExplainCommand(Installation installation, Screen screen) {
        this.installation = installation;
        this.screen = screen;
    }

    @Override
    public Integer call() {
        if (subject.file == null && subject.prompt == null && subject.request == null) {
            throw new ParameterException(spec.commandLine(),
                    "explain needs a FILE (- is the input), --prompt TEXT or --request ID");
        }
        Fleet fleet = options.fleet(installation, key);
        if (subject.request != null) {
            JsonNode decisions = past(fleet, subject.request);
            screen.print(json ? Json.lines(decisions) : ExplainPage.past(decisions, screen));
            return 0;
        }
        JsonNode route = route(fleet.first().api());
        screen.print(json ? Json.lines(route) : ExplainPage.route(route, screen));
        return route.path("worker").isNull() ? 1 : 0;
    }

    private JsonNode route(HttpServer api) {
        ObjectNode body = body();
        if (model != null) {
            body.put("model", model);
        } else if (!body.has("model")) {
            JsonNode served = api.json("/v1/models").path("data");
            if (served.isEmpty()) {
                throw new CommandException("no model is served: workers have to join first");
            }
            body.put("model", served.get(0).path("id").asString(""));
        }
        HttpServer.Answer answer = api.ask("POST", "/v1/route", body.toString());
        if (answer.status() == 403) {
            throw new CommandException(api.url() + " tells operators only where requests go, and the API key from "
                    + fleetKey() + " is none of theirs (./warmpath key NAME --operator makes one)");
        }
        if (answer.status() / 100 != 2) {
            throw new CommandException("the router says (" + answer.status() + "): " + HttpServer.reason(answer));
        }
        try {
            return HttpServer.JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new CommandException(api.url() + "/v1/route answers no JSON: is it a router's API?");
        }
    }

    private String fleetKey() {
        return key == null ? Secrets.KEY_VARIABLE : "--key";
    }

    private ObjectNode body() {
        if (subject.prompt != null) {
            return HttpServer.JSON.createObjectNode().put("prompt", subject.prompt);
        }
        String file = Objects.requireNonNull(subject.file);
        String text = file.equals(STANDARD_INPUT) ? read(System.in, "the input") : read(Path.of(file));
        try {
            if (HttpServer.JSON.readTree(text) instanceof ObjectNode object) {
                return object;
            }
        } catch (JacksonException e) {
            throw new CommandException(file + " is no JSON: " + e.getOriginalMessage());
        }
        throw new CommandException(file + " is no JSON object with messages or a prompt");
    }

    private static String read(Path file) {
        try (InputStream bytes = Files.newInputStream(file)) {
            return read(bytes, file.toString());
        } catch (IOException e) {
            throw new CommandException("cannot read " + file + ": is it there, and readable? (a text is given by"
                    + " --prompt)");
        }
    }

    private static String read(InputStream input, String name) {
        try {
            byte[] bytes = input.readNBytes(MOST_BYTES + 1);
            if (bytes.length > MOST_BYTES) {
                throw new CommandException(name + " is longer than 16 MB, the most that a router takes");
            }
            return new String(bytes, StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new CommandException("cannot read " + name + ": " + e.getMessage());
        }
    }

    /** By the first router that knows it: each remembers its own. */
    private static JsonNode past(Fleet fleet, String request) {
        String path = "/actuator/decisions/" + HttpServer.segment(request);
        @Nullable CommandException first = null;
        int answered = 0;
        for (Router router : fleet.routers()) {
            try {
                JsonNode decisions = router.management().json(path);
                answered++;
                if (!decisions.path("decisions").isEmpty()) {
                    return decisions;
                }
            } catch (CommandException e) {
                first = first == null ? e : first;
            }
        }
        if (answered == 0 && first != null) {
            throw first;
        }
        throw new CommandException("no router remembers a request '" + request + "': its id is the answer's"
                + " x-request-id, and each router remembers its last requests only (warmpath.decisions.keep)");
    }
}
