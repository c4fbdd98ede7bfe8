package dev.warmpath.worker.metrics;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads Prometheus' text format. */
final class Scrape {

    /** {@code name{labels} value}. */
    private static final Pattern SAMPLE = Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(.*)})? (\\S+)");
    private static final Pattern LABEL = Pattern.compile("([a-z_]+)=\"([^\"]*)\"");

    private Scrape() {}

    /** Name and labels of every sample, with its value. */
    static Map<String, Double> samples(String text) {
        Map<String, Double> samples = new LinkedHashMap<>();
        text.lines().filter(line -> !line.startsWith("#")).forEach(line -> {
            Matcher sample = SAMPLE.matcher(line);
            assertThat(sample.matches()).as(line).isTrue();
            samples.put(sample.group(1) + (sample.group(2) == null ? "" : "{" + sample.group(2) + "}"),
                    Double.valueOf(sample.group(3)));
        });
        return samples;
    }

    /** The type of every meter. */
    static Map<String, String> types(String text) {
        Map<String, String> types = new HashMap<>();
        text.lines().filter(line -> line.startsWith("# TYPE ")).map(line -> line.split(" "))
                .forEach(words -> types.put(words[2], words[3]));
        return types;
    }

    static Map<String, String> labels(String sample) {
        Map<String, String> labels = new HashMap<>();
        LABEL.matcher(sample).results().forEach(label -> labels.put(label.group(1), label.group(2)));
        return labels;
    }
}
