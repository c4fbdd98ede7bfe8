package dev.warmpath.cli.build;

import dev.warmpath.cli.fleet.Installation;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The one on the PATH, which has its user's settings, or else the wrapper's; on the JDK that runs this program. */
public final class Maven {

    private final List<String> program;
    private final Programs programs;

    public Maven(Installation installation, Programs programs) {
        Map<String, String> environment = new HashMap<>(installation.environment());
        environment.put("JAVA_HOME", Jdk.home().toString());
        this.programs = programs.with(environment).in(installation.home());
        String installed = this.programs.installed("mvn");
        program = List.of(installed != null ? installed : installation.home().resolve("mvnw").toString(), "-B");
    }

    /** What runs Maven with these arguments, in the checkout. */
    public List<String> command(List<String> arguments) {
        List<String> command = new ArrayList<>(program);
        command.addAll(arguments);
        return command;
    }

    /** With the JDK for it. */
    public Programs programs() {
        return programs;
    }
}
