package dev.warmpath.planner.trace;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Turn;
import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.Base64;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Lines of a router's log of requests, {@code warmpath.decisions.file}, with what it writes for the planner under
 * {@code warmpath.decisions.replay}: {@code prompt_keys}, the keys of the prompt's full blocks. Requests that no worker
 * was asked for are passed over.
 */
final class RouterLogLines implements LineFormat {

    private static final String SETTING = "warmpath.decisions.replay=true";

    private final TraceSettings settings;
    private int blockTokens;
    private long alone;

    RouterLogLines(TraceSettings settings) {
        this.settings = settings;
    }

    @Override
    public String name() {
        return "router log";
    }

    @Override
    public boolean isOwn(JsonNode line) {
        return line.path("decisions").isArray() && line.has("request");
    }

    @Override
    public boolean isOutOfOrder() {
        return true;
    }

    @Override
    public boolean hasAnswers() {
        return true;
    }

    @Override
    public @Nullable RequestLine parse(JsonNode line) {
        JsonNode decisions = line.path("decisions");
        if (decisions.isEmpty() || !line.hasNonNull("prompt_tokens")) {
            return null;
        }
        double millis = PromptLines.instant(Fields.required(line, "at").asString(""));
        int length = Fields.count(line, "prompt_tokens", 1, Fields.MOST_TOKENS);
        int block = Fields.count(decisions.get(0), "block_size", Prompt.SMALLEST_PIECE,
                HashSettings.MAX_BLOCK_SIZE);
        if (blockTokens != 0 && block != blockTokens) {
            throw new Fields.WrongException("block_size is " + block + ", and " + blockTokens
                    + " before; requests of models whose blocks differ cannot be planned together");
        }
        blockTokens = block;
        JsonNode outcome = line.path("outcome");
        int answer = outcome.hasNonNull("completion_tokens")
                ? Math.max(1, Fields.count(outcome, "completion_tokens", 0, Integer.MAX_VALUE))
                : settings.answerTokens();
        return new RequestLine(millis, new Turn(new Prompt(pieces(line, length), block, length), answer));
    }

    private long[] pieces(JsonNode line, int length) {
        if (!line.hasNonNull("prompt_keys")) {
            throw new Fields.WrongException("prompt_keys is missing: the router writes it with " + SETTING);
        }
        LongBuffer keys = keys(line.path("prompt_keys").asString(""));
        long[] pieces = new long[Math.ceilDiv(length, blockTokens)];
        if (keys.remaining() > length / blockTokens) {
            throw new Fields.WrongException("prompt_keys has " + keys.remaining() + " keys, and " + length
                    + " tokens have " + length / blockTokens + " full blocks");
        }
        for (int i = 0; i < pieces.length; i++) {
            pieces[i] = Pieces.number(keys.hasRemaining() ? keys.get() : --alone);
        }
        return pieces;
    }

    private static LongBuffer keys(String base64) {
        try {
            byte[] bytes = Base64.getDecoder().decode(base64);
            if (bytes.length % Long.BYTES == 0) {
                return ByteBuffer.wrap(bytes).asLongBuffer();
            }
        } catch (IllegalArgumentException e) {
            // said below
        }
        throw new Fields.WrongException("prompt_keys is no base64 of whole keys of eight bytes");
    }
}
