package dev.warmpath.planner.trace;

import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A file's requests in the order of its lines, with these as they are. Which format it is, its first line says. */
public final class TraceLines implements AutoCloseable {

    private final JsonLines lines;
    private final List<LineFormat> formats;
    private @Nullable LineFormat format;
    private long firstLine;

    /**
     * A request of a file.
     *
     * @param raw    its line's bytes, without the line's end; the caller's own
     * @param number of the line, from 1
     * @param millis when it came; not a number: it does not say
     */
    public record Line(byte[] raw, long number, double millis, Turn turn) {}

    private TraceLines(JsonLines lines, TraceSettings settings) {
        this.lines = lines;
        formats = List.of(new MooncakeLines(settings.blockTokens()), new RouterLogLines(settings),
                new PromptLines(settings));
    }

    /** @throws IOException if the file cannot be read */
    public static TraceLines open(Path file, TraceSettings settings) throws IOException {
        return new TraceLines(JsonLines.open(file), settings);
    }

    /**
     * The next request; null after the last one.
     *
     * @throws TraceException if a line is not what it should be, or there is none at all
     */
    public @Nullable Line next() throws IOException {
        for (JsonNode json = lines.next(); json != null; json = lines.next()) {
            RequestLine request = parse(json);
            if (request != null) {
                return new Line(lines.raw(), lines.number(), request.millis(), request.turn());
            }
        }
        if (format == null) {
            throw lines.problemOfAll("the file has no request in it");
        }
        return null;
    }

    private @Nullable RequestLine parse(JsonNode json) throws IOException {
        try {
            return format(json).parse(json);
        } catch (Fields.WrongException e) {
            throw lines.problem(e.getMessage());
        } catch (IllegalArgumentException e) {
            throw lines.problem("it is no request: " + e.getMessage());
        }
    }

    private LineFormat format(JsonNode json) throws TraceException {
        LineFormat own = formats.stream().filter(each -> each.isOwn(json)).findFirst().orElse(null);
        if (format == null && own == null) {
            throw lines.problem("it is no request: one has hash_ids (Mooncake's format), prompt, prompt_token_ids,"
                    + " tokens or messages, or is a line of a router's log of requests");
        }
        if (format == null) {
            format = own;
            firstLine = lines.number();
        }
        if (own != format) {
            throw lines.problem("it is not of the format of line " + firstLine + ", " + format.name()
                    + "; a file has requests of one format");
        }
        return format;
    }

    /** What the file turned out to be; empty before the first line. */
    public String format() {
        return format == null ? "" : format.name();
    }

    boolean hasAnswers() {
        return format != null && format.hasAnswers();
    }

    boolean isOutOfOrder() {
        return format != null && format.isOutOfOrder();
    }

    TraceException problem(String sentence) {
        return lines.problem(sentence);
    }

    /** How much of the file was read, 0 to 1. */
    public double share() {
        return lines.share();
    }

    /** Of the file's bytes as they lie there, in hex. */
    public String sha256() throws IOException {
        return lines.sha256();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
