package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.FleetFile;
import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.fleet.Role;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What is shown to ports that ask for it, and where it was found: a refusal says which secret was wrong.
 *
 * @param token of operators, for writes on management ports; null: none, as fleets on loopback want it
 * @param key   of the API
 * @param own   management ports of the processes that 'up' has started: they alone are shown the token of its state
 *              folder
 */
record Secrets(@Nullable String token, String tokenFrom, @Nullable String key, String keyFrom, Set<URI> own) {

    private static final String TOKEN_OPTION = "--token";

    static final String TOKEN_VARIABLE = "WARMPATH_MANAGEMENT_TOKEN";
    static final String KEY_VARIABLE = "WARMPATH_API_KEY";

    static Secrets find(@Nullable String tokenOption, @Nullable String keyOption, Installation installation) {
        String token = tokenOption;
        String tokenFrom = TOKEN_OPTION;
        if (token == null) {
            token = variable(installation, TOKEN_VARIABLE);
            tokenFrom = TOKEN_VARIABLE;
        }
        Path file = installation.managementToken();
        if (token == null && Files.isReadable(file)) {
            tokenFrom = file.toString();
            try {
                token = Files.readString(file).strip();
            } catch (IOException e) {
                throw new CommandException("cannot read " + file + ": " + e.getMessage());
            }
        }
        String key = keyOption == null ? variable(installation, KEY_VARIABLE) : keyOption;
        @Nullable FleetFile started = FleetFile.read(installation.state());
        Set<URI> own = started == null ? Set.of() : started.members().stream()
                .filter(member -> member.role() != Role.REDIS).map(member -> member.management(""))
                .collect(Collectors.toUnmodifiableSet());
        return new Secrets(token, tokenFrom, key, keyOption == null ? KEY_VARIABLE : "--key", own);
    }

    /** For a router that the caller has named, or that 'up' has started. */
    HttpServer router(URI management) {
        boolean isFromFile = !tokenFrom.equals(TOKEN_OPTION) && !tokenFrom.equals(TOKEN_VARIABLE);
        return server(management, "the router's management port", !isFromFile || own.contains(management));
    }

    /** For a worker by what a router says of it, which may be anything: the token goes where the caller wants it. */
    HttpServer worker(URI management) {
        return server(management, "the worker's management port",
                tokenFrom.equals(TOKEN_OPTION) || own.contains(management));
    }

    private HttpServer server(URI management, String name, boolean isTrusted) {
        if (token == null) {
            return HttpServer.management(management, name, null,
                    "no management token was given: use --token, or " + TOKEN_VARIABLE);
        }
        return isTrusted
                ? HttpServer.management(management, name, token,
                        "the management token from " + tokenFrom + " is not this fleet's")
                : HttpServer.management(management, name, null, "the management token from " + tokenFrom
                        + " was not sent there, for 'up' has not started it: use --token to send one");
    }

    private static @Nullable String variable(Installation installation, String name) {
        String value = installation.variable(name);
        return value.isBlank() ? null : value.strip();
    }

    String keyAdvice() {
        return key == null
                ? "no API key was given: use --key, or " + KEY_VARIABLE + " (./warmpath key makes keys)"
                : "the API key from " + keyFrom + " is not known there";
    }
}
