package dev.warmpath.cli.terminal;

import java.io.Console;
import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;
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
    private static final String ALTERNATE = "\033[?1049h\033[?25l";
    private static final String NORMAL = "\033[?25h\033[?1049l";
    private static final String HOME = "\033[H";
    private static final String END_OF_LINE = "\033[K";
    private static final String END_OF_SCREEN = "\033[J";

    /** What a terminal would act on: control characters of both sets, and such as change the direction of text. */
    private static final Pattern STEERING = Pattern.compile("[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]+");
    /** Ours beside the blocks. */
    private static final Map<String, String> PLAIN = Map.of("–", "-", "…", "...", "≤", "<=");

    private final PrintStream out;
    private final boolean terminal;
    private final boolean blocks;
    private final Supplier<Size> size;
    private boolean alternate;

    record Size(int rows, int columns) {}

    /** @param blocks whether it can show block characters */
    public Screen(PrintStream out, boolean terminal, boolean blocks) {
        this(out, terminal, blocks, Screen::size);
    }

    Screen(PrintStream out, boolean terminal, boolean blocks, Supplier<Size> size) {
        this.out = out;
        this.terminal = terminal;
        this.blocks = blocks;
        this.size = size;
    }

    /** Of this process. */
    public static Screen standard() {
        @Nullable Console console = System.console();
        return new Screen(System.out, takesOrders() && console != null && console.isTerminal(),
                canShowBlocks(System.out));
    }

    /** What is said beside the output of this process: often a terminal where the output is a file. */
    public static Screen errors() {
        return new Screen(System.err, takesOrders() && Stty.isErrorTerminal(), canShowBlocks(System.err));
    }

    /** To move and to clear. */
    private static boolean takesOrders() {
        return !"dumb".equals(System.getenv("TERM"));
    }

    private static boolean canShowBlocks(PrintStream stream) {
        return stream.charset().newEncoder().canEncode("█▒░·");
    }

    /** A text of somebody else's, with a space for whatever would steer the terminal. */
    public static String harmless(String text) {
        return STEERING.matcher(text).replaceAll(" ");
    }

    public boolean isTerminal() {
        return terminal;
    }

    public int width() {
        return terminal ? size.get().columns : UNLIMITED;
    }

    /** Asked anew: windows are resized. */
    private static Size size() {
        @Nullable String said = Stty.run("size");
        if (said != null && said.matches("\\d{1,5} \\d{1,5}")) {
            int rows = Integer.parseInt(said.substring(0, said.indexOf(' ')));
            int columns = Integer.parseInt(said.substring(said.indexOf(' ') + 1));
            return new Size(rows > 0 ? rows : USUAL_HEIGHT, columns > 0 ? columns : USUAL_WIDTH);
        }
        return new Size(USUAL_HEIGHT, USUAL_WIDTH);
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

    /**
     * Draws over what was drawn before, without a blank moment. Lines that are too long are cut; where there are
     * too many, the last row says how many more there are.
     */
    public synchronized void draw(List<String> lines) {
        if (!alternate) {
            return;                          // it is over: nothing is drawn on the user's own page
        }
        Size now = size.get();
        int rows = Math.min(lines.size(), now.rows);
        var page = new StringBuilder(HOME);
        for (int i = 0; i < rows; i++) {
            boolean isCut = i == rows - 1 && rows < lines.size();
            String line = shown(!isCut ? lines.get(i)
                    : "… and " + (lines.size() - i) + " lines more: the window is too low for them");
            page.append(line.length() > now.columns ? line.substring(0, now.columns) : line).append(END_OF_LINE);
            page.append(i < rows - 1 ? "\n" : "");
        }
        out.print(page.append(END_OF_SCREEN));
        out.flush();
    }

    private String shown(String line) {
        String shown = harmless(line);
        if (!blocks) {
            for (Map.Entry<String, String> plain : PLAIN.entrySet()) {
                shown = shown.replace(plain.getKey(), plain.getValue());
            }
        }
        return shown;
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
        lines.forEach(line -> out.println(shown(line)));
        out.flush();
    }
}
