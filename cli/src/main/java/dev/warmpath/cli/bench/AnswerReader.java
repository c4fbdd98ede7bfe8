package dev.warmpath.cli.bench;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads the event stream of one completion, and notes when what came. For one thread and one answer. */
final class AnswerReader {

    /** The ids of a prompt of a million tokens take less. */
    private static final int LONGEST_LINE = 16 << 20;
    private static final int MOST_TEXT = 16 << 20;
    private static final int MOST_PIECES = 4 << 20;
    private static final String DATA = "data:";
    private static final String DONE = "[DONE]";
    private static final JsonMapper JSON = JsonMapper.builder().build();

    private final LongSupplier clock;
    private final @Nullable String worker;
    private final StringBuilder text = new StringBuilder();
    private int[] ids = new int[0];
    private long[] gaps = new long[32];
    private int pieces;
    private long first;
    private long last;
    private boolean finished;
    private int promptTokens = -1;
    private int cachedTokens = -1;
    private int completionTokens = -1;

    AnswerReader(LongSupplier clock, @Nullable String worker) {
        this.clock = clock;
        this.worker = worker;
    }

    /**
     * Reads to the end.
     *
     * @throws RequestFailedException if the stream says that it failed, ends too early, or is none
     * @throws IOException            if the connection breaks
     */
    Answer read(InputStream stream) throws IOException, RequestFailedException {
        var line = new ByteArrayOutputStream();
        byte[] buffer = new byte[8 << 10];
        boolean done = false;
        int read;
        while (!done && (read = stream.read(buffer)) >= 0) {
            int from = 0;
            for (int i = 0; i < read && !done; i++) {
                if (buffer[i] == '\n') {
                    line.write(buffer, from, i - from);
                    from = i + 1;
                    done = accept(line.toString(StandardCharsets.UTF_8).strip());
                    line.reset();
                }
            }
            line.write(buffer, from, Math.max(0, read - from));
            if (line.size() > LONGEST_LINE) {
                throw unreadable("a line of more than 16 MB");
            }
        }
        if (!done && !finished) {
            throw new RequestFailedException(RequestFailedException.BROKEN, "the answer ended before its end");
        }
        long end = clock.getAsLong();
        return new Answer(pieces == 0 ? end : first, pieces == 0 ? end : last, end,
                Arrays.copyOf(gaps, Math.max(0, pieces - 1)), promptTokens, cachedTokens,
                completionTokens < 0 ? pieces : completionTokens, text.toString(), ids, worker);
    }

    /** @return whether it was the last one */
    private boolean accept(String line) throws RequestFailedException {
        if (!line.startsWith(DATA)) {
            return false;                                          // empty lines, comments, names of events
        }
        String data = line.substring(DATA.length()).strip();
        if (data.equals(DONE)) {
            return true;
        }
        JsonNode chunk;
        try {
            chunk = JSON.readTree(data);
        } catch (JacksonException e) {
            throw unreadable(e.getOriginalMessage());
        }
        JsonNode error = chunk.path("error");
        if (error.isObject() || error.isString()) {
            throw new RequestFailedException(RequestFailedException.ERROR_EVENT,
                    error.path("message").asString(error.toString()));
        }
        chunk.path("choices").forEach(this::choice);
        usage(chunk.path("usage"));
        if (text.length() > MOST_TEXT || pieces > MOST_PIECES) {
            throw unreadable("an answer without an end");
        }
        return false;
    }

    private void choice(JsonNode choice) {
        String piece = choice.path("text").asString("");
        if (!piece.isEmpty()) {
            long now = clock.getAsLong();
            if (pieces == 0) {
                first = now;
            } else {
                gaps = pieces > gaps.length ? Arrays.copyOf(gaps, 2 * gaps.length) : gaps;
                gaps[pieces - 1] = now - last;
            }
            last = now;
            pieces++;
            text.append(piece);
        }
        JsonNode drawn = choice.path("token_ids");
        if (!drawn.isEmpty()) {
            int before = ids.length;
            ids = Arrays.copyOf(ids, before + drawn.size());
            for (int i = 0; i < drawn.size(); i++) {
                ids[before + i] = drawn.get(i).asInt(0);
            }
        }
        finished |= choice.path("finish_reason").isString();
    }

    private void usage(JsonNode usage) {
        if (usage.isObject()) {
            promptTokens = usage.path("prompt_tokens").asInt(promptTokens);
            completionTokens = usage.path("completion_tokens").asInt(completionTokens);
            cachedTokens = usage.path("prompt_tokens_details").path("cached_tokens").asInt(cachedTokens);
        }
    }

    private static RequestFailedException unreadable(String why) {
        return new RequestFailedException(RequestFailedException.UNREADABLE, why);
    }
}
