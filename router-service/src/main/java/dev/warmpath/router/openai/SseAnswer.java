package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import dev.warmpath.router.completion.CompletionEvent;
import dev.warmpath.router.completion.CompletionEvent.Finished;
import dev.warmpath.router.completion.CompletionEvent.Routed;
import dev.warmpath.router.completion.CompletionEvent.Text;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;
import reactor.core.publisher.SynchronousSink;
import tools.jackson.databind.json.JsonMapper;

/**
 * One answer's server-sent events, as bytes. What follows from one event of the completion is written together: the
 * chunk with the role comes with the first text, the end with all that belongs to it.
 */
final class SseAnswer {

    static final byte[] HEARTBEAT = bytes(": still at it\n\n");
    private static final byte[] DATA = bytes("data: ");
    private static final byte[] END_OF_EVENT = bytes("\n\n");
    private static final byte[] DONE = bytes("data: [DONE]\n\n");

    private final JsonMapper json;
    private final AnswerFormat format;
    private final AnswerFormat.HeadOf headOf;
    private final boolean includeUsage;
    private AnswerFormat.Head head;
    private boolean begun;

    /** A chunk of a stream that will end with usage says so all along. */
    private record ChunkBeforeUsage(
            @JsonUnwrapped AnswerBody chunk, @JsonInclude(JsonInclude.Include.ALWAYS) @Nullable AnswerUsage usage) {}

    SseAnswer(JsonMapper json, AnswerFormat format, AnswerFormat.HeadOf headOf, boolean includeUsage) {
        this.json = json;
        this.format = format;
        this.headOf = headOf;
        this.head = headOf.revision("");
        this.includeUsage = includeUsage;
    }

    void accept(CompletionEvent event, SynchronousSink<byte[]> sink) {
        switch (event) {
            case Routed routed -> head = headOf.revision(routed.revision());
            case Text text -> sink.next(text(text));
            case Finished finished -> sink.next(end(finished));
        }
    }

    /** The last event of a stream that broke; no {@code [DONE]} follows. */
    byte[] error(Throwable error) {
        var out = new ByteArrayOutputStream();
        write(out, OpenAiError.of(error).body());
        return out.toByteArray();
    }

    private byte[] text(Text text) {
        var out = new ByteArrayOutputStream();
        begin(out);
        writeChunk(out, format.text(head, text.text()));
        return out.toByteArray();
    }

    private byte[] end(Finished finished) {
        var out = new ByteArrayOutputStream();
        begin(out);
        if (!finished.rest().isEmpty()) {
            writeChunk(out, format.text(head, finished.rest()));
        }
        writeChunk(out, format.finish(head, finished.reason()));
        if (includeUsage) {
            write(out, format.usage(head, finished.usage()));
        }
        out.writeBytes(DONE);
        return out.toByteArray();
    }

    private void begin(ByteArrayOutputStream out) {
        @Nullable AnswerBody first = begun ? null : format.first(head);
        begun = true;
        if (first != null) {
            writeChunk(out, first);
        }
    }

    private void writeChunk(ByteArrayOutputStream out, AnswerBody chunk) {
        write(out, includeUsage ? new ChunkBeforeUsage(chunk, null) : chunk);
    }

    private void write(ByteArrayOutputStream out, Object data) {
        out.writeBytes(DATA);
        out.writeBytes(json.writeValueAsBytes(data));
        out.writeBytes(END_OF_EVENT);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
