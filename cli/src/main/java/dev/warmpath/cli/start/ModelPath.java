package dev.warmpath.cli.start;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import java.nio.file.Files;
import java.nio.file.Path;

/** Finds a model. What is wrong with what lies there, a worker's check tells. */
final class ModelPath {

    private static final String SHIPPED = "models/warmpath-tiny";
    private static final String HUB_ID = "[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*";

    private ModelPath() {}

    /**
     * @param given empty for the one that ships
     * @return from the root
     * @throws CommandException if there is nothing
     */
    static Path find(String given, Installation installation) {
        if (given.isEmpty()) {
            return installation.home().resolve(SHIPPED);
        }
        Path model = Path.of(given.startsWith("~/") ? installation.variable("HOME") + given.substring(1) : given);
        if (!Files.exists(model)) {
            throw new CommandException(given.matches(HUB_ID)
                    ? "there is no folder '" + given + "' here. If that is a model's name on the Hugging Face hub: "
                            + "nothing is fetched from there; fetch it, such as by 'hf download "
                            + "" + given + " --local-dir "
                            + given.substring(given.indexOf('/') + 1) + "', and give that folder"
                    : "there is no folder or file '" + given + "'");
        }
        return model.toAbsolutePath().normalize();
    }
}
