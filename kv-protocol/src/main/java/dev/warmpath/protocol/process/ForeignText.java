package dev.warmpath.protocol.process;

import java.util.regex.Pattern;

/** What another process said, as it may stand in logs and views of this one: it may be long, and more than a line. */
public final class ForeignText {

    /** Whatever some terminal or viewer takes for the end of a line, or does not show. */
    private static final Pattern BREAKS = Pattern.compile("[\\p{Cntrl}\\p{Cf}\\p{Zl}\\p{Zp}]+");

    private ForeignText() {}

    /**
     * The text without line breaks and what cannot be seen, each run of it a space.
     *
     * @param maxChars a longer line is cut there and ends with an ellipsis
     */
    public static String oneLine(String text, int maxChars) {
        boolean isLong = text.length() > 2 * maxChars;             // the rest is not looked at, however much there is
        String line = BREAKS.matcher(isLong ? text.substring(0, 2 * maxChars) : text).replaceAll(" ");
        return isLong || line.length() > maxChars
                ? line.substring(0, Math.min(maxChars, line.length())) + "…" : line;
    }
}
