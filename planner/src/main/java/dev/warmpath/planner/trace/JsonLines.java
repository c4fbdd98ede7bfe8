package dev.warmpath.planner.trace;

import java.io.IOException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A file's lines as JSON objects, one at a time; blank ones are passed over. Gzipped files are unpacked. */
public final class JsonLines implements AutoCloseable {

    private static final int MOST_NESTED = 64;
    private static final int MOST_DIGITS = 64;

    private static final JsonMapper JSON = JsonMapper.builder(JsonFactory.builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(MOST_NESTED)
                    .maxNumberLength(MOST_DIGITS).maxStringLength(LineReader.MOST_BYTES).build()).build())
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS).build();

    private final LineReader lines;
    private byte[] raw = {};

    private JsonLines(LineReader lines) {
        this.lines = lines;
    }

    /** @throws IOException if the file cannot be read, or is none */
    public static JsonLines open(Path file) throws IOException {
        return new JsonLines(new LineReader(file));
    }

    /**
     * The next one; null after the last.
     *
     * @throws TraceException if it is no whole JSON object in UTF-8, or longer than 16 MiB
     */
    public @Nullable JsonNode next() throws IOException {
        byte[] line = lines.next();
        if (line == null) {
            return null;
        }
        raw = line;
        try {
            JsonNode json = JSON.readTree(lines.text(line));
            if (!json.isObject()) {
                throw problem("a request is a JSON object, not " + Fields.shown(json));
            }
            return json;
        } catch (JacksonException e) {
            throw problem("it is no whole JSON: " + e.getOriginalMessage().lines().findFirst().orElse(""));
        }
    }

    /** The last line as it is, without its end; the caller's own. */
    byte[] raw() {
        return raw;
    }

    /** Of the last line, from 1. */
    public long number() {
        return lines.number();
    }

    /** About the last line. */
    public TraceException problem(String sentence) {
        return lines.problem(sentence);
    }

    /** About the file as a whole. */
    public TraceException problemOfAll(String sentence) {
        return new TraceException(lines.name(), 1, sentence);
    }

    /** How much of the file was read, 0 to 1. */
    public double share() {
        return lines.share();
    }

    /** Of the file's bytes as they lie there, in hex; reads what is left of them. */
    public String sha256() throws IOException {
        return lines.sha256OfAll();
    }

    @Override
    public void close() throws IOException {
        lines.close();
    }
}
