package dev.warmpath.tokenization.template;

import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** {@code strftime_now}: the date in C's notation, in English whatever the machine's locale. */
final class Strftime {
    private static final Map<Character, String> PATTERNS = Map.ofEntries(
            Map.entry('Y', "uuuu"), Map.entry('y', "uu"), Map.entry('m', "MM"), Map.entry('d', "dd"),
            Map.entry('B', "MMMM"), Map.entry('b', "MMM"), Map.entry('A', "EEEE"), Map.entry('a', "EEE"),
            Map.entry('H', "HH"), Map.entry('I', "hh"), Map.entry('M', "mm"), Map.entry('S', "ss"),
            Map.entry('p', "a"), Map.entry('j', "DDD"), Map.entry('F', "uuuu-MM-dd"), Map.entry('T', "HH:mm:ss"));

    private Strftime() {}

    static Text format(Text pattern, RenderContext context) {
        String format = pattern.chars();
        ZonedDateTime now = context.now();
        var out = new StringBuilder();
        context.chars(10L * format.length());
        for (int i = 0; i < format.length(); i++) {
            context.steps(8);                                    // a date takes longer than a character
            char c = format.charAt(i);
            if (c != '%' || i + 1 == format.length()) {
                out.append(c);
            } else {
                out.append(directive(format.charAt(++i), now, context));
            }
        }
        return pattern.clientRanges().length == 0 ? Text.trusted(out.toString()) : Text.fromClient(out.toString());
    }

    private static String directive(char directive, ZonedDateTime now, RenderContext context) {
        if (directive == '%') {
            return "%";
        }
        @Nullable String pattern = PATTERNS.get(directive);
        if (pattern == null) {
            throw context.unsupported("the date directive '%" + directive + "'");
        }
        return DateTimeFormatter.ofPattern(pattern, Locale.ENGLISH).format(now);
    }
}
