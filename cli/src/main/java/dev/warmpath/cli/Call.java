package dev.warmpath.cli;

import dev.warmpath.cli.build.Build;
import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.build.Programs;
import dev.warmpath.cli.build.Progress;
import dev.warmpath.cli.build.Service;
import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.cli.fleet.Installation;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** One call of the command: where it works, and what it has to end if it is interrupted. */
record Call(Installation installation, Ending ending) {

    static final int LONGEST_STALL_SECONDS = 86_400;
    private static final Duration USUAL_STALL = Duration.ofSeconds(120);

    Programs programs() {
        return Programs.here(ending, installation);
    }

    /**
     * What runs a program that looks at something and ends. It is built if that is needed, which is told aside: the
     * program's output may be for other programs.
     *
     * @param heap a flag of the JVM
     */
    List<String> command(Service service, List<String> flags, String heap, List<String> arguments) throws IOException {
        try (var progress = Progress.aside()) {
            new Build(installation, programs(), progress)
                    .ifNeeded(Service.FLEET.contains(service) ? Service.FLEET : List.of(service));
        }
        List<String> all = new ArrayList<>(flags);
        all.add(heap);
        return service.command(installation, all, arguments);
    }

    /**
     * A number in a range, bounds included.
     *
     * @throws IllegalArgumentException in a sentence
     */
    static int number(String option, String given, int least, int most) {
        if (!given.matches("[0-9]{1,9}") || Integer.parseInt(given) < least || Integer.parseInt(given) > most) {
            throw new IllegalArgumentException(
                    option + " takes a number from " + least + " to " + most + ", not '" + given + "'");
        }
        return Integer.parseInt(given);
    }

    /**
     * @return after how long without progress a start is given up, unless an option says otherwise
     * @throws CommandException if the environment has something else than a number
     */
    Duration stallTimeout() {
        String seconds = installation.variable("WARMPATH_STALL_SECONDS");
        try {
            return seconds.isEmpty() ? USUAL_STALL
                    : Duration.ofSeconds(number("WARMPATH_STALL_SECONDS", seconds, 1, LONGEST_STALL_SECONDS));
        } catch (IllegalArgumentException e) {
            throw new CommandException(e.getMessage());
        }
    }
}
