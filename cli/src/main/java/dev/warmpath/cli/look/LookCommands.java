package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.Installation;
import dev.warmpath.cli.terminal.Screen;
import java.util.List;
import java.util.function.LongSupplier;

/** All commands of this package, for the command line. */
public final class LookCommands {

    private LookCommands() {}

    public static List<Object> all(Installation installation) {
        return all(installation, Screen.standard());
    }

    static List<Object> all(Installation installation, Screen screen) {
        LongSupplier nanoTime = System::nanoTime;
        return List.of(new WorkersCommand(installation, screen, nanoTime),
                new TopCommand(installation, screen, nanoTime), new ExplainCommand(installation, screen),
                new DrainCommand(installation, screen), new UndrainCommand(installation, screen),
                new ResetCacheCommand(installation, screen));
    }
}
