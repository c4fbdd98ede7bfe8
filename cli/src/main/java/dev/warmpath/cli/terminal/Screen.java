package dev.warmpath.cli.terminal;

import java.io.Console;
import java.io.File;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What the output goes to: a terminal with a width, or a file or pipe without one. Characters that it cannot show have
 * plain ones in their place.
 */
public final class Screen {

    /** Of lines that go to a file or pipe. */
    private static final int UNLIMITED = 1_000;
    private static final int USUAL_WIDTH = 80;
    private static final int USUAL_HEIGHT = 24;
    private static final File TERMINAL = new File("/dev/tty");
    private static final String ALTERNATE = "\033[?1049h\033[?25l";
    private static final String NORMAL = "\033[?25h\033[?1049l";
    private static final String HOME = "\033[H";
    private static final String END_OF_LINE = "\033[K";
    private static final String END_OF_SCREEN = "\033[J";

    private final PrintStream out;
    private final boolean terminal;
    private final boolean blocks;
    private boolean alternate;

    /** @param blocks whether it can show block characters */
    public Screen(PrintStream out, boolean terminal, boolean blocks) {
        this.out = out;
        this.terminal = terminal;
        this.blocks = blocks;
    }

    /** Of this process. */
    public static Screen standard() {
        @Nullable Console console = System.console();
        boolean moves = !"dumb".equals(System.getenv("TERM"));     // one that takes orders to move and to clear
        return new Screen(System.out, moves && console != null && console.isTerminal(),
                System.out.charset().newEncoder().canEncode("█▒░·"));
    }

    public boolean isTerminal() {
        return terminal;
    }

    public int width() {
        return terminal ? size()[1] : UNLIMITED;
    }

    /** Rows and columns, asked anew: windows are resized. */
    private static int[] size() {
        try {
            Process stty = new ProcessBuilder("stty", "size").redirectInput(TERMINAL)
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start();
            String[] said = new String(stty.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip()
                    .split(" ");
            if (stty.waitFor(1, TimeUnit.SECONDS) && said.length == 2) {
                int rows = Integer.parseInt(said[0]);
                int columns = Integer.parseInt(said[1]);
                return new int[] {rows > 0 ? rows : USUAL_HEIGHT, columns > 0 ? columns : USUAL_WIDTH};
            }
        } catch (IOException | NumberFormatException e) {
            // a terminal of the usual size, then
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return new int[] {USUAL_HEIGHT, USUAL_WIDTH};
    }

    /** A share of a width in characters. @param share 0 to 1 */
    public String bar(double share, int width) {
        int full = (int) Math.round(Math.clamp(share, 0, 1) * width);
        return (blocks ? "█" : "#").repeat(full) + (blocks ? "░" : ".").repeat(width - full);
    }

    public char held() {
        return blocks ? '█' : '#';
    }

    public char partly() {
        return blocks ? '▒' : '+';
    }

    public char missing() {
        return blocks ? '·' : '.';
    }

    /** Leaves what is on the screen as it is, under a page of our own, until {@link #restore}. */
    public synchronized void begin() {
        alternate = true;
        out.print(ALTERNATE);
        out.flush();
    }

    /** Draws over what was drawn before, without a blank moment between; lines that do not fit are cut. */
    public synchronized void draw(List<String> lines) {
        if (!alternate) {
            return;                          // it is over: nothing is drawn on the user's own page
        }
        int[] size = size();
        var page = new StringBuilder(HOME);
        int rows = Math.min(lines.size(), size[0]);
        for (int i = 0; i < rows; i++) {
            String line = lines.get(i);
            page.append(line.length() > size[1] ? line.substring(0, size[1]) : line).append(END_OF_LINE);
            page.append(i < rows - 1 ? "\n" : "");
        }
        out.print(page.append(END_OF_SCREEN));
        out.flush();
    }

    /** May be called again. */
    public synchronized void restore() {
        if (alternate) {
            alternate = false;
            out.print(NORMAL);
            out.flush();
        }
    }

    public void print(List<String> lines) {
        lines.forEach(out::println);
        out.flush();
    }
}
