package dev.warmpath.worker.foreign.generate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The samples of a page in Prometheus's text format. What is no sample is passed over. */
record Samples(String page) {

    /** @param labels by name */
    record Sample(Map<String, String> labels, double value) {

        String label(String name) {
            return labels.getOrDefault(name, "");
        }
    }

    /** Of the series of that name, in order. */
    List<Sample> of(String name) {
        List<Sample> found = new ArrayList<>();
        int from = 0;
        while (from < page.length()) {
            int end = page.indexOf('\n', from);
            int to = end < 0 ? page.length() : end;
            int behind = from + name.length();
            if (behind < to && page.startsWith(name, from)
                    && (page.charAt(behind) == '{' || page.charAt(behind) == ' ')) {
                add(page.substring(behind, to), found);
            }
            from = to + 1;
        }
        return found;
    }

    /** The first of them, or what is said in its place. */
    double first(String name, double otherwise) {
        List<Sample> samples = of(name);
        return samples.isEmpty() ? otherwise : samples.getFirst().value();
    }

    /** @param rest of a line behind the name: labels in braces or none, a value, perhaps a time */
    private static void add(String rest, List<Sample> found) {
        Map<String, String> labels = new HashMap<>();
        int at = rest.charAt(0) == '{' ? labels(rest, labels) : 0;
        String value = at < 0 ? "" : rest.substring(at).strip();
        int space = value.indexOf(' ');
        try {
            found.add(new Sample(labels, Double.parseDouble(space < 0 ? value : value.substring(0, space))));
        } catch (NumberFormatException e) {
            // no sample, or +Inf, which none of ours is
        }
    }

    /** @return where the value begins, or -1 if the braces are not closed */
    private static int labels(String rest, Map<String, String> labels) {
        int at = 1;
        while (at < rest.length() && rest.charAt(at) != '}') {
            int equals = rest.indexOf('=', at);
            if (equals < 0 || equals + 1 >= rest.length() || rest.charAt(equals + 1) != '"') {
                return -1;
            }
            var value = new StringBuilder();
            int i = equals + 2;
            while (i < rest.length() && rest.charAt(i) != '"') {
                boolean escaped = rest.charAt(i) == '\\' && i + 1 < rest.length();
                i += escaped ? 1 : 0;
                value.append(escaped && rest.charAt(i) == 'n' ? '\n' : rest.charAt(i));
                i++;
            }
            labels.put(rest.substring(at, equals).strip(), value.toString());
            at = i + 1;
            if (at < rest.length() && rest.charAt(at) == ',') {
                at++;
            }
        }
        return at < rest.length() ? at + 1 : -1;
    }
}
