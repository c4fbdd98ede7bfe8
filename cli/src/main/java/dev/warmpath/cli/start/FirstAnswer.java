package dev.warmpath.cli.start;

import dev.warmpath.cli.fleet.Management;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import tools.jackson.databind.json.JsonMapper;

/** Asks a new fleet's first router for a completion, so that "ready" means that a request is answered. */
final class FirstAnswer {

    /** For an answer that is being computed; the machine may be busy. */
    private static final Duration PATIENCE = Duration.ofMinutes(10);
    private static final int TOLD_CHARACTERS = 300;
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final Management management;
    private final URI router;
    private final Path log;

    FirstAnswer(Management management, URI router, Path log) {
        this.management = management;
        this.router = router;
        this.log = log;
    }

    /** @return the name of the model as it stands in JSON, without quotes and fit for single quotes in a shell */
    String require() throws StartFailedException {
        Management.Answer models = Management.within(PATIENCE, management.get(router.resolve("/v1/models")));
        String name = models == null ? "" : models.json().path("data").path(0).path("id").asString("");
        if (name.isEmpty()) {
            throw new StartFailedException("the router serves no model", log);
        }
        String quoted = JSON.writeValueAsString(name);
        String inJson = quoted.substring(1, quoted.length() - 1).replace("'", "\\u0027");
        Management.Answer completion = Management.within(PATIENCE, management.post(router.resolve("/v1/completions"),
                "{\"model\":\"" + inJson + "\",\"prompt\":\"Hello\",\"max_tokens\":1}"));
        if (completion == null || completion.status() != 200) {
            throw new StartFailedException("a first completion was answered with '"
                    + (completion == null ? "nothing" : completion.status() + " " + beginning(completion.body()))
                    + "'", log);
        }
        return inJson;
    }

    private static String beginning(String body) {
        return body.substring(0, Math.min(body.length(), TOLD_CHARACTERS));
    }
}
