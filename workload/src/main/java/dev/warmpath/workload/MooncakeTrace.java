package dev.warmpath.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.zip.GZIPInputStream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Requests as the traces of Mooncake have them (Qin et al., FAST 2025): a line of JSON each, with {@code timestamp} in
 * milliseconds, {@code input_length}, {@code output_length} and {@code hash_ids}, a number for each 512 tokens of the
 * prompt. Numbers are chained: the same one is the same whole beginning.
 */
public final class MooncakeTrace {

    public static final int BLOCK_TOKENS = 512;

    private final List<Line> lines;

    private record Line(long millis, Prompt prompt, int answerTokens) {}

    private MooncakeTrace(List<Line> lines) {
        this.lines = lines;
    }

    /**
     * Reads all of it; blank lines are passed over.
     *
     * @param file gzipped if it is named so
     * @throws IOException if it cannot be read or is no such trace, with the line's number
     */
    public static MooncakeTrace read(Path file) throws IOException {
        var json = JsonMapper.builder().build();
        List<Line> lines = new ArrayList<>();
        try (var bytes = Files.newInputStream(file);
                var text = file.toString().endsWith(".gz") ? new GZIPInputStream(bytes) : bytes;
                var reader = new BufferedReader(new InputStreamReader(text, StandardCharsets.UTF_8))) {
            int number = 0;
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                number++;
                try {
                    if (!line.isBlank()) {
                        lines.add(line(json.readTree(line)));
                    }
                } catch (JacksonException e) {
                    throw new IOException("line " + number + " of " + file + ": " + e.getOriginalMessage(), e);
                } catch (RuntimeException e) {
                    throw new IOException("line " + number + " of " + file + ": " + e.getMessage(), e);
                }
            }
        }
        lines.sort(Comparator.comparingLong(Line::millis));
        return new MooncakeTrace(lines);
    }

    private static Line line(JsonNode json) {
        long millis = json.required("timestamp").asLong();
        long[] ids = json.required("hash_ids").valueStream().mapToLong(JsonNode::asLong).toArray();
        if (millis < 0 || Arrays.stream(ids).anyMatch(id -> id < 0)) {
            throw new IllegalArgumentException("timestamp and hash_ids are 0 or more");
        }
        return new Line(millis, new Prompt(ids, BLOCK_TOKENS, json.required("input_length").asInt()),
                Math.max(1, json.required("output_length").asInt()));
    }

    public int requests() {
        return lines.size();
    }

    /**
     * The trace over itself, so many times, each copy shifted in time and with numbers of its own, but for the piece
     * that begins all: more clients of the same habits, not quicker ones. Requests that the trace has at the same moment
     * are spread until the next one.
     *
     * @return in order of time
     */
    public List<Session> overlaid(int copies) {
        long spanMillis = lines.getLast().millis + 1;
        List<Session> sessions = new ArrayList<>(copies * lines.size());
        long[] micros = spread();
        for (int copy = 0; copy < copies; copy++) {
            long shiftMicros = spanMillis * 1_000 * copy / copies;
            for (int i = 0; i < lines.size(); i++) {
                Line line = lines.get(i);
                long at = (micros[i] + shiftMicros) % (spanMillis * 1_000);
                sessions.add(Session.of(at, new Turn(new Prompt(own(line.prompt.pieces(), copy, copies),
                        BLOCK_TOKENS, line.prompt.length()), line.answerTokens)));
            }
        }
        sessions.sort(Comparator.comparingLong(Session::startMicros));
        return sessions;
    }

    private static long[] own(long[] ids, int copy, int copies) {
        long[] own = new long[ids.length];
        for (int i = 0; i < ids.length; i++) {
            own[i] = ids[i] == 0 ? 0 : ids[i] * copies + copy;
        }
        return own;
    }

    private long[] spread() {
        long[] micros = new long[lines.size()];
        for (int begin = 0; begin < lines.size();) {
            int end = begin;
            while (end < lines.size() && lines.get(end).millis == lines.get(begin).millis) {
                end++;
            }
            long from = lines.get(begin).millis * 1_000;
            long to = end < lines.size() ? lines.get(end).millis * 1_000 : from + 3_000_000;
            for (int i = begin; i < end; i++) {
                micros[i] = from + (to - from) * (i - begin) / (end - begin);
            }
            begin = end;
        }
        return micros;
    }
}
