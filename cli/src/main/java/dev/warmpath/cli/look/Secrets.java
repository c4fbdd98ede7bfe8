package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * What is shown to ports that ask for it, and where it was found: a refusal says which secret was wrong.
 *
 * @param token of operators, for writes on management ports; null: none, as fleets on loopback want it
 * @param key   of the API
 */
record Secrets(@Nullable String token, String tokenFrom, @Nullable String key, String keyFrom) {

    static final String TOKEN_VARIABLE = "WARMPATH_MANAGEMENT_TOKEN";
    static final String KEY_VARIABLE = "WARMPATH_API_KEY";

    static Secrets find(@Nullable String tokenOption, @Nullable String keyOption, Installation installation) {
        String token = tokenOption;
        String tokenFrom = "--token";
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
        return new Secrets(token, tokenFrom, key, keyOption == null ? KEY_VARIABLE : "--key");
    }

    private static @Nullable String variable(Installation installation, String name) {
        String value = installation.variable(name);
        return value.isBlank() ? null : value.strip();
    }

    String tokenAdvice() {
        return token == null
                ? "no management token was given: use --token, or " + TOKEN_VARIABLE
                : "the management token from " + tokenFrom + " is not this fleet's";
    }

    String keyAdvice() {
        return key == null
                ? "no API key was given: use --key, or " + KEY_VARIABLE + " (./warmpath key makes keys)"
                : "the API key from " + keyFrom + " is not known there";
    }
}
