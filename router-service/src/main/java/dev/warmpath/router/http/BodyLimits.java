package dev.warmpath.router.http;

import dev.warmpath.router.admission.AdmissionControl;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.completion.BadRequestException.Fault;
import dev.warmpath.router.fields.FieldReader;
import dev.warmpath.router.fields.Place;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.models.ServedModel;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.stereotype.Component;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.json.JsonFactory;

/**
 * How long a body may be and how much may be in it: what fills the longest context among the served models, in the
 * wordiest JSON that says so. Its values are bounded, too, and every body has a price in heap.
 */
@Component
final class BodyLimits {

    private static final int MAX_DEPTH = 64;
    private static final int MAX_NAME_CHARS = 1_024;
    private static final int MAX_NUMBER_CHARS = 64;
    /** A byte as <code>\</code>{@code u0001}; a token id has 10 digits and a comma at most, which is less than two. */
    private static final int MOST_JSON_PER_BYTE = 6;
    /** For all that is no prompt: names, brackets, stop strings, metadata. */
    private static final int BYTES_BESIDE_PROMPT = 512 << 10;
    /** 4,096 messages of text parts have 14 each: an object has two, a name one, a value one. */
    private static final int JSON_TOKENS_BESIDE_PROMPT = 128 << 10;

    private final int maxBodyBytes;
    private final AdmissionControl admission;
    private final Fleet fleet;
    private volatile Limit last;

    BodyLimits(ApiProperties properties, AdmissionControl admission, Fleet fleet) {
        this.maxBodyBytes = (int) properties.maxBody().toBytes();
        this.admission = admission;
        this.fleet = fleet;
        this.last = new Limit(maxBodyBytes, JSON_TOKENS_BESIDE_PROMPT);
    }

    /** Follows the models that are served. Where none is, only the setting counts: the name is refused next. */
    Limit now() {
        long bodyBytes = 0;
        int promptTokens = 0;
        for (ServedModel model : fleet.models()) {
            int contextLength = model.description().contextLength();
            promptTokens = Math.max(promptTokens, contextLength);
            int tokenBytes = Math.min(maxBodyBytes, model.tokenizer().maxTokenBytes());
            bodyBytes = Math.max(bodyBytes, BYTES_BESIDE_PROMPT
                    + (long) contextLength * tokenBytes * MOST_JSON_PER_BYTE);
        }
        int jsonTokens = (int) Math.min(Integer.MAX_VALUE, (long) promptTokens + JSON_TOKENS_BESIDE_PROMPT);
        long most = Math.min(maxBodyBytes, Limit.longestFor(admission.largestBytes(), jsonTokens));
        int bytes = (int) (bodyBytes == 0 ? most : Math.min(bodyBytes, most));
        Limit known = last;
        if (known.bodyBytes != bytes || known.jsonTokens != jsonTokens) {
            last = known = new Limit(bytes, jsonTokens);
        }
        return known;
    }

    /** The limits of a moment. */
    static final class Limit {

        /** Gathered in blocks of twice the length of the one before. */
        private static final int HEAP_PER_BYTE_GATHERED = 2;
        /** Measured, Jackson 3.1: a string of n bytes takes 4.5 n while it is read, its bytes included, and 3 n then. */
        private static final int HEAP_PER_BYTE = 5;
        private static final int HEAP_PER_BYTE_PARSED = 3;
        /** An empty message, which is two, has 11 places for fields, its own place, and one in a list: 130 bytes. */
        private static final int HEAP_PER_JSON_TOKEN = 64;

        private final int bodyBytes;
        private final int jsonTokens;
        private final JsonFactory json;

        Limit(int bodyBytes, int jsonTokens) {
            this.bodyBytes = bodyBytes;
            this.jsonTokens = jsonTokens;
            var limits = StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_DEPTH)
                    .maxNameLength(MAX_NAME_CHARS)
                    .maxNumberLength(MAX_NUMBER_CHARS)
                    .maxStringLength(bodyBytes)
                    .maxTokenCount(jsonTokens)
                    .build();
            this.json = JsonFactory.builder().streamReadConstraints(limits).build();
        }

        private static long longestFor(long heapBytes, int jsonTokens) {
            return Math.max(0, heapBytes - (long) HEAP_PER_JSON_TOKEN * jsonTokens) / HEAP_PER_BYTE;
        }

        int bodyBytes() {
            return bodyBytes;
        }

        /** What this much of a body takes that has not come as a whole, or is not read yet. */
        long gatheredHeapBytes(long length) {
            return HEAP_PER_BYTE_GATHERED * length;
        }

        /** What reading a body of this length may take, its bytes included. */
        long heapBytes(long length) {
            return HEAP_PER_BYTE * length + HEAP_PER_JSON_TOKEN * Math.min(length, jsonTokens);
        }

        /** What is kept of it for as long as it is answered: its texts, and their tokens. */
        long parsedHeapBytes(long length) {
            return HEAP_PER_BYTE_PARSED * length;
        }

        BadRequestException tooLarge() {
            return new BadRequestException(Fault.BODY_TOO_LARGE, null,
                    "the body is longer than " + bodyBytes + " bytes");
        }

        /** Of the first bytes, so many. @param ignored as of {@link FieldReader} */
        <T> T parse(byte[] body, int length, @Nullable Consumer<Place> ignored, Function<FieldReader, T> reading) {
            try (JsonParser parser = json.createParser(ObjectReadContext.empty(), body, 0, length)) {
                return reading.apply(new FieldReader(parser, ignored));
            } catch (JacksonException e) {
                throw new BadRequestException(Fault.INVALID_JSON, null, words(e) + place(e.getLocation()));
            }
        }

        /** Our own: the parser's would name its classes and settings. */
        private String words(JacksonException e) {
            return e instanceof StreamConstraintsException
                    ? "the body is more than is read: a nesting depth of " + MAX_DEPTH + ", names of " + MAX_NAME_CHARS
                            + " characters, numbers of " + MAX_NUMBER_CHARS + ", " + jsonTokens
                            + " values, names and brackets"
                    : "the body is not JSON that can be read";
        }

        private static String place(TokenStreamLocation at) {
            return at == null || at.getLineNr() < 1
                    ? "" : " (line " + at.getLineNr() + ", column " + at.getColumnNr() + ")";
        }
    }
}
