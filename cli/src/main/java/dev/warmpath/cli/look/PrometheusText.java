package dev.warmpath.cli.look;

import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The text that {@code /actuator/prometheus} answers, as far as totals and histograms want it: sums over the series of
 * a name. Lines that are none are passed over.
 */
public final class PrometheusText {

    private static final String BUCKET = "_bucket";
    private static final String BOUND = "le=\"";

    private final List<String> lines;

    public PrometheusText(String text) {
        this.lines = text.lines().filter(line -> !line.startsWith("#")).toList();
    }

    /** 0 if there is none. */
    public double sum(String name) {
        return sum(name, _ -> true);
    }

    /** Of those series alone that have this label, written {@code name="value"}. */
    double sum(String name, String label) {
        return sum(name, labels -> labels.contains(label));
    }

    private double sum(String name, Predicate<String> labels) {
        double sum = 0;
        for (String line : lines) {
            @Nullable String rest = after(line, name);
            if (rest != null && labels.test(rest)) {
                sum += value(line);
            }
        }
        return sum;
    }

    /** How many were at most so long, by upper bounds in seconds; the last is infinity. */
    NavigableMap<Double, Double> buckets(String name) {
        NavigableMap<Double, Double> counts = new TreeMap<>();
        for (String line : lines) {
            @Nullable String rest = after(line, name + BUCKET);
            int at = rest == null ? -1 : rest.indexOf(BOUND);
            if (rest != null && at >= 0) {
                String bound = rest.substring(at + BOUND.length(), rest.indexOf('"', at + BOUND.length()));
                counts.merge(number(bound), value(line), Double::sum);
            }
        }
        return counts;
    }

    /** Labels and value of a line, if it is of this name. */
    private static @Nullable String after(String line, String name) {
        if (!line.startsWith(name) || line.length() == name.length()) {
            return null;
        }
        char next = line.charAt(name.length());
        return next == '{' || next == ' ' ? line.substring(name.length()) : null;
    }

    /** The last of the line: the format allows a time behind it, which no service of ours writes. */
    private static double value(String line) {
        return number(line.substring(line.lastIndexOf(' ') + 1));
    }

    private static double number(String text) {
        try {
            return text.equals("+Inf") ? Double.POSITIVE_INFINITY : Double.parseDouble(text);
        } catch (NumberFormatException e) {
            return 0;
        }
    }
}
