package dev.warmpath.cli.terminal;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** The terminal of this process by the programs that every system has for it: Java itself tells little of terminals. */
final class Stty {

    private static final File TERMINAL = new File("/dev/tty");

    private Stty() {}

    /** @return what it says; null if there is no terminal, or no such program */
    static @Nullable String run(String... arguments) {
        List<String> command = new ArrayList<>(List.of("stty"));
        command.addAll(List.of(arguments));
        try {
            Process stty = new ProcessBuilder(command).redirectInput(TERMINAL).redirectError(Redirect.DISCARD).start();
            String said = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();
            return stty.waitFor(1, TimeUnit.SECONDS) && stty.exitValue() == 0 ? said : null;
        } catch (IOException e) {
            return null;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    /** Whether messages of this process go to a terminal. */
    static boolean isErrorTerminal() {
        try {
            return new ProcessBuilder("test", "-t", "2").redirectError(Redirect.INHERIT).start().waitFor() == 0;
        } catch (IOException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
