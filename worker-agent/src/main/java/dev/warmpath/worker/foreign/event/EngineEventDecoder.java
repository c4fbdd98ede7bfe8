package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.BlockExtraKeys;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.msgpack.core.MessageFormat;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePackException;
import org.msgpack.core.MessageUnpacker;
import org.msgpack.value.ValueType;

/**
 * Reads the event batches of vLLM 0.18 to 0.32 and SGLang 0.5: {@code [time, [event, …], rank]} in MessagePack, as
 * captured from vLLM 0.20 and 0.32 and from SGLang's publisher.
 *
 * <pre>
 * event, before vLLM 0.24   ["BlockStored", hashes, parent, tokens, …]                     trailing defaults left out
 * event, from there on      {"type": "BlockStored", "block_hashes": hashes, …}             defaults left out anywhere
 * </pre>
 * Fields and events that are not known are passed over: both have grown with every few releases.
 *
 * <p>Nothing is allocated for a count or length before it is held against the bytes that are left, and what is read
 * takes at most some ten times a payload's bytes, extra keys apart, which are counted.
 */
final class EngineEventDecoder {

    /** A step of vLLM stores some 100,000 tokens at most, in half a megabyte. */
    static final int MAX_PAYLOAD_BYTES = 16 << 20;
    /** Names of adapters, media and salts. */
    private static final int MAX_TEXT_BYTES = 4096;
    /** Extra keys take a hundred bytes each in memory and two in a payload. */
    private static final int MAX_EXTRA_KEYS = 1 << 17;

    private static final String STORED = "BlockStored";
    private static final String REMOVED = "BlockRemoved";
    private static final String CLEARED = "AllBlocksCleared";
    /** The fields of the array encoding behind the kind, by place. */
    private static final List<String> STORED_FIELDS = List.of("block_hashes", "parent_block_hash", "token_ids",
            "block_size", "lora_id", "medium", "lora_name", "extra_keys", "group_idx", "kv_cache_spec_kind",
            "kv_cache_spec_sliding_window", "locality");
    private static final List<String> REMOVED_FIELDS = List.of("block_hashes", "medium", "group_idx", "locality");
    private static final EngineEvent.Cleared ALL_CLEARED = new EngineEvent.Cleared();

    static {
        // the library otherwise begins with sun.misc.Unsafe, which JDK 25 warns of and a later one will refuse
        System.setProperty("msgpack.universal-buffer", "true");
    }

    private final MessageUnpacker in;
    private final int payloadBytes;
    private int extraKeyCount;
    private int unknownEvents;

    private EngineEventDecoder(MessageUnpacker in, int payloadBytes) {
        this.in = in;
        this.payloadBytes = payloadBytes;
    }

    /** @throws EngineEventException if the bytes are not exactly one batch */
    static EngineBatch decode(byte[] payload) {
        if (payload.length > MAX_PAYLOAD_BYTES) {
            throw new EngineEventException("a batch has " + payload.length + " bytes, limit " + MAX_PAYLOAD_BYTES);
        }
        try (MessageUnpacker in = MessagePack.newDefaultUnpacker(payload)) {
            return new EngineEventDecoder(in, payload.length).batch();
        } catch (MessagePackException | IOException e) {
            throw new EngineEventException("a batch of " + payload.length + " bytes is broken: " + e.getMessage(), e);
        }
    }

    private EngineBatch batch() throws IOException {
        int fieldCount = arrayHeader();
        if (fieldCount < 2) {
            throw new EngineEventException("a batch has " + fieldCount + " fields, time and events are wanted");
        }
        double timeSeconds = time();
        int eventCount = arrayHeader();
        var events = new ArrayList<EngineEvent>();
        for (int i = 0; i < eventCount; i++) {
            @Nullable EngineEvent event = event();
            if (event == null) {
                unknownEvents++;
            } else {
                events.add(event);
            }
        }
        int rank = fieldCount > 2 ? intOr(EngineBatch.NO_RANK) : EngineBatch.NO_RANK;
        skip(fieldCount - 3L);
        if (bytesLeft() > 0) {
            throw new EngineEventException(bytesLeft() + " bytes after the end of the batch");
        }
        return new EngineBatch(timeSeconds, rank, events, unknownEvents);
    }

    private double time() throws IOException {
        if (in.getNextFormat().getValueType() == ValueType.FLOAT) {
            return in.unpackDouble();
        }
        skip(1);
        return Double.NaN;
    }

    /** @return null if its kind is not known */
    private @Nullable EngineEvent event() throws IOException {
        return switch (in.getNextFormat().getValueType()) {
            case ARRAY -> eventInArray();
            case MAP -> eventInMap();
            default -> {
                skip(1);
                yield null;
            }
        };
    }

    private @Nullable EngineEvent eventInArray() throws IOException {
        int itemCount = arrayHeader();
        @Nullable String kind = itemCount == 0 ? null : textOrNull();
        int fieldCount = Math.max(itemCount - 1, 0);
        @Nullable List<String> names = kind == null ? null : fieldsOf(kind);
        if (names == null) {
            skip(fieldCount);
            return null;
        }
        var fields = new Fields();
        for (int i = 0; i < fieldCount; i++) {
            read(i < names.size() ? names.get(i) : "", fields);
        }
        return fields.event(kind);
    }

    private @Nullable EngineEvent eventInMap() throws IOException {
        int fieldCount = mapHeader();
        // the kind always comes first, as captured: it says how the rest is to be read
        boolean named = fieldCount > 0 && "type".equals(textOrNull());
        @Nullable String kind = named ? textOrNull() : null;
        if (kind == null || fieldsOf(kind) == null) {
            skip(fieldCount == 0 ? 0 : 2L * fieldCount - (named ? 2 : 1));
            return null;
        }
        var fields = new Fields();
        for (int i = 1; i < fieldCount; i++) {
            @Nullable String name = textOrNull();
            read(name == null ? "" : name, fields);
        }
        return fields.event(kind);
    }

    private static @Nullable List<String> fieldsOf(String kind) {
        return switch (kind) {
            case STORED -> STORED_FIELDS;
            case REMOVED -> REMOVED_FIELDS;
            case CLEARED -> List.of();
            default -> null;
        };
    }

    private void read(String name, Fields fields) throws IOException {
        switch (name) {
            case "block_hashes" -> fields.handles = handles();
            case "parent_block_hash" -> fields.parent = in.tryUnpackNil() ? null : Long.valueOf(handle());
            case "token_ids" -> fields.tokens = tokens();
            case "block_size" -> fields.blockSize = intOr(0);
            case "lora_id" -> fields.hasAdapterId = !skipIsNil();
            case "medium" -> fields.medium = textOrNull();
            case "lora_name" -> fields.adapter = textOrNull();
            case "cache_salt" -> fields.salt = textOrNull();
            case "extra_keys" -> fields.publishedKeys = publishedKeys();
            case "group_idx" -> fields.group = intOr(0);
            case "kv_cache_spec_kind" -> fields.attention = textOrNull();
            case "locality" -> fields.remote = "REMOTE".equals(textOrNull());
            default -> skip(1);
        }
    }

    private long[] handles() throws IOException {
        long[] handles = new long[arrayHeader()];
        for (int i = 0; i < handles.length; i++) {
            handles[i] = handle();
        }
        return handles;
    }

    /** vLLM sends integers without sign or all bytes of a hash, SGLang integers with a sign. */
    private long handle() throws IOException {
        MessageFormat format = in.getNextFormat();
        return switch (format.getValueType()) {
            case INTEGER -> format == MessageFormat.UINT64 ? in.unpackBigInteger().longValue() : in.unpackLong();
            case BINARY -> {
                int length = in.unpackBinaryHeader();
                if (length != 16 && length != 32) {
                    throw new EngineEventException("a block hash has " + length + " bytes, 16 or 32 are wanted");
                }
                yield ByteBuffer.wrap(in.readPayload(length)).getLong(length - Long.BYTES);
            }
            default -> throw new EngineEventException("a block hash is of type " + format.getValueType());
        };
    }

    private int[] tokens() throws IOException {
        int[] tokens = new int[arrayHeader()];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = in.unpackInt();
            if (tokens[i] < 0) {
                throw new EngineEventException("token id " + tokens[i] + " is negative");
            }
        }
        return tokens;
    }

    private List<PublishedKeys> publishedKeys() throws IOException {
        if (in.tryUnpackNil()) {
            return List.of();
        }
        int blockCount = arrayHeader();
        var keys = new ArrayList<PublishedKeys>(blockCount);
        for (int i = 0; i < blockCount; i++) {
            keys.add(in.tryUnpackNil() ? PublishedKeys.NONE : publishedKeysOfBlock());
        }
        return keys;
    }

    private PublishedKeys publishedKeysOfBlock() throws IOException {
        int keyCount = arrayHeader();
        extraKeyCount += 1 + keyCount;
        if (extraKeyCount > MAX_EXTRA_KEYS) {
            throw new EngineEventException("a batch has more than " + MAX_EXTRA_KEYS + " extra keys");
        }
        var texts = new ArrayList<String>(1);
        var media = new ArrayList<BlockExtraKeys.Media>(0);
        boolean understood = true;
        for (int i = 0; i < keyCount; i++) {
            switch (in.getNextFormat().getValueType()) {
                case STRING -> texts.add(text());
                case ARRAY -> understood &= readMedia(media);
                default -> {
                    skip(1);                                        // the digest of a prompt that came as embeddings
                    understood = false;
                }
            }
        }
        return new PublishedKeys(texts, media, understood);
    }

    private boolean readMedia(List<BlockExtraKeys.Media> media) throws IOException {
        int itemCount = arrayHeader();
        if (itemCount == 2 && in.getNextFormat().getValueType() == ValueType.STRING) {
            String identifier = text();
            if (in.getNextFormat().getValueType() == ValueType.INTEGER) {
                media.add(new BlockExtraKeys.Media(identifier, in.unpackInt()));
                return true;
            }
            skip(1);
            return false;
        }
        skip(itemCount);
        return false;
    }

    private int intOr(int absent) throws IOException {
        return in.tryUnpackNil() ? absent : in.unpackInt();
    }

    /** @return null for anything but a text */
    private @Nullable String textOrNull() throws IOException {
        if (in.getNextFormat().getValueType() == ValueType.STRING) {
            return text();
        }
        skip(1);
        return null;
    }

    private String text() throws IOException {
        int length = in.unpackRawStringHeader();
        if (length > MAX_TEXT_BYTES || length > bytesLeft()) {
            throw new EngineEventException("a text claims " + length + " bytes, limit "
                    + Math.min(MAX_TEXT_BYTES, bytesLeft()));
        }
        return new String(in.readPayload(length), StandardCharsets.UTF_8);
    }

    private boolean skipIsNil() throws IOException {
        if (in.tryUnpackNil()) {
            return true;
        }
        skip(1);
        return false;
    }

    /** Passes over so many values with all that is in them, however deep: without recursion. */
    private void skip(long count) throws IOException {
        for (long left = count; left > 0; left--) {
            switch (in.getNextFormat().getValueType()) {
                case ARRAY -> left += arrayHeader();
                case MAP -> left += 2L * mapHeader();
                default -> in.skipValue();
            }
        }
    }

    /** Each item takes a byte at least. */
    private int arrayHeader() throws IOException {
        return fitting(in.unpackArrayHeader(), 1, "items");
    }

    private int mapHeader() throws IOException {
        return fitting(in.unpackMapHeader(), 2, "fields");
    }

    private int fitting(int count, int bytesEach, String what) {
        if (count > bytesLeft() / bytesEach) {
            throw new EngineEventException(
                    "a batch claims " + count + " " + what + " where " + bytesLeft() + " bytes are left");
        }
        return count;
    }

    private long bytesLeft() {
        return payloadBytes - in.getTotalReadBytes();
    }

    /** The extra keys of a block as published: without tags, so that their order and kind have to tell them apart. */
    private record PublishedKeys(List<String> texts, List<BlockExtraKeys.Media> media, boolean understood) {

        static final PublishedKeys NONE = new PublishedKeys(List.of(), List.of(), true);

        /** @return null if something is in them that a block's hash cannot be computed from */
        @Nullable BlockExtraKeys of(@Nullable String adapter, boolean beginsPrompt) {
            int next = adapter != null && !texts.isEmpty() && texts.getFirst().equals(adapter) ? 1 : 0;
            @Nullable String salt = next < texts.size() && beginsPrompt ? texts.get(next++) : null;
            return understood && next == texts.size() ? new BlockExtraKeys(adapter, media, salt) : null;
        }
    }

    /** What an event says, before all of it is known. */
    private static final class Fields {

        private static final long[] NO_HANDLES = {};
        private static final int[] NO_TOKENS = {};

        private long[] handles = NO_HANDLES;
        private @Nullable Long parent;
        private int[] tokens = NO_TOKENS;
        private int blockSize;
        private boolean hasAdapterId;
        private @Nullable String adapter;
        private @Nullable String salt;
        private @Nullable String medium;
        private boolean remote;
        private int group;
        private @Nullable String attention;
        private List<PublishedKeys> publishedKeys = List.of();

        EngineEvent event(String kind) {
            var place = new EngineEvent.Place(medium, remote, group);
            return switch (kind) {
                case STORED -> new EngineEvent.Stored(
                        handles, parent, tokens, blockSize, place, attention, extraKeys());
                case REMOVED -> new EngineEvent.Removed(handles, place);
                default -> ALL_CLEARED;
            };
        }

        private List<BlockExtraKeys> extraKeys() {
            if (hasAdapterId && adapter == null) {
                return List.of();                               // vLLM before 0.14: a number that says nothing here
            }
            var understood = new ArrayList<BlockExtraKeys>(handles.length);
            for (int i = 0; i < handles.length; i++) {
                PublishedKeys published = i < publishedKeys.size() ? publishedKeys.get(i) : PublishedKeys.NONE;
                @Nullable BlockExtraKeys keys = keysOf(published, parent == null && i == 0);
                if (keys == null) {
                    break;
                }
                understood.add(keys);
            }
            return understood;
        }

        private @Nullable BlockExtraKeys keysOf(PublishedKeys published, boolean beginsPrompt) {
            if (beginsPrompt && salt != null) {
                // SGLang has a field of its own for it
                return new BlockExtraKeys(adapter, published.media(), salt);
            }
            return published == PublishedKeys.NONE && adapter == null
                    ? BlockExtraKeys.NONE : published.of(adapter, beginsPrompt);
        }
    }
}
