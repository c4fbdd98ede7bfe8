package dev.warmpath.tokenization.bpe;

import dev.warmpath.tokenization.bpe.Reading.UnknownException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The text of ids for the decoders of SentencePiece's models: {@code ▁} is a space, {@code <0x0A>} a byte, and a space
 * at the beginning may be left out.
 *
 * <p>Bytes in a row are judged together: they are text if all of them are UTF-8, and one U+FFFD each if not, as the
 * library has it. So a stream keeps such a run until it ends, or cannot become text any more; all else comes out at
 * once.
 */
final class MetaspaceDecoder implements TokenDecoder {
    private static final String MARK = String.valueOf(Preparation.MARK);
    private static final short NO_BYTE = -1;
    private static final byte[] NO_BYTES = {};
    private static final String REPLACEMENT = "\uFFFD";

    /** What is left out where a text begins. */
    private enum Start { NOTHING, ONE_SPACE, SPACES_OF_FIRST_TOKEN }

    /** By id, with spaces; null where there is none. */
    private final @Nullable String[] texts;
    /** By id: the byte that it stands for, or {@link #NO_BYTE}. */
    private final short[] bytes;
    private final BitSet specialIds;
    private final Start start;

    private MetaspaceDecoder(Pieces pieces, boolean withBytes, Start start) {
        texts = new @Nullable String[pieces.texts().length];
        bytes = new short[texts.length];
        for (int id = 0; id < texts.length; id++) {
            @Nullable String piece = pieces.texts()[id];
            texts[id] = piece == null ? null : piece.replace(Preparation.MARK, ' ');
            bytes[id] = withBytes && piece != null ? byteOf(piece) : NO_BYTE;
        }
        specialIds = pieces.specialIds();
        this.start = start;
    }

    private static short byteOf(String piece) {
        boolean named = piece.length() == 6 && piece.startsWith("<0x") && piece.endsWith(">")
                && HexFormat.isHexDigit(piece.charAt(3)) && HexFormat.isHexDigit(piece.charAt(4));
        return named ? (short) HexFormat.fromHexDigits(piece, 3, 5) : NO_BYTE;
    }

    /** @param root tokenizer.json. @return null if its decoder is another, or its vocabulary no map */
    static @Nullable MetaspaceDecoder of(JsonNode root) {
        JsonNode decoder = root.path("decoder");
        try {
            return switch (Reading.type(decoder)) {
                case "Sequence" -> ofSteps(root, Reading.steps(decoder, "decoders"));
                case "Metaspace" -> ofMetaspace(root, decoder);
                default -> null;
            };
        } catch (UnknownException e) {
            return null;
        }
    }

    /** Replace, ByteFallback, Fuse, and Strip or not. */
    private static @Nullable MetaspaceDecoder ofSteps(JsonNode root, List<JsonNode> steps) throws UnknownException {
        boolean strips = steps.size() == 4;
        boolean known = steps.size() == (strips ? 4 : 3) && Reading.isReplace(steps.get(0), MARK, " ")
                && isPlain(steps.get(1), "ByteFallback") && isPlain(steps.get(2), "Fuse")
                && (!strips || isStrip(steps.get(3)));
        @Nullable Pieces pieces = known ? Pieces.of(root) : null;
        return pieces == null ? null : new MetaspaceDecoder(
                pieces, /* withBytes */ true, strips ? Start.ONE_SPACE : Start.NOTHING);
    }

    private static boolean isPlain(JsonNode step, String type) throws UnknownException {
        Reading.onlyKeys(type, step, Set.of("type"));
        return Reading.type(step).equals(type);
    }

    private static boolean isStrip(JsonNode step) throws UnknownException {
        Reading.onlyKeys("Strip", step, Set.of("type", "content", "start", "stop"));
        return Reading.type(step).equals("Strip") && step.path("content").asString("").equals(" ")
                && step.path("start").asInt(-1) == 1 && step.path("stop").asInt(-1) == 0;
    }

    private static @Nullable MetaspaceDecoder ofMetaspace(JsonNode root, JsonNode decoder) throws UnknownException {
        var metaspace = Metaspace.ofMetaspace(decoder);
        @Nullable Pieces pieces = Pieces.of(root);
        if (pieces == null || Arrays.stream(pieces.texts()).anyMatch(text -> text != null && isOdd(text))) {
            return null;
        }
        return new MetaspaceDecoder(pieces, /* withBytes */ false, metaspace.start() == Preparation.Start.NOTHING
                ? Start.NOTHING : Start.SPACES_OF_FIRST_TOKEN);
    }

    /** A space of its own stays where those of marks are left out; an empty token is a first one, too. */
    private static boolean isOdd(String text) {
        return text.isEmpty() || text.indexOf(' ') >= 0;
    }

    @Override
    public String decode(int[] ids, int from, int to, boolean skipSpecialTokens) {
        var text = new StringBuilder();
        var stream = new Stream(skipSpecialTokens, start != Start.NOTHING);
        for (int i = from; i < to; i++) {
            text.append(stream.accept(ids[i]));
        }
        return text.append(stream.finish()).toString();
    }

    @Override
    public byte[] bytes(int id) {
        @Nullable String text = id >= 0 && id < texts.length ? texts[id] : null;
        if (text == null) {
            return NO_BYTES;
        }
        return bytes[id] == NO_BYTE ? text.getBytes(StandardCharsets.UTF_8) : new byte[] {(byte) bytes[id]};
    }

    @Override
    public TextStream stream(boolean continues) {
        return new Stream(/* skipSpecialTokens */ true, !continues && start != Start.NOTHING);
    }

    private final class Stream implements TextStream {
        private final boolean skipSpecialTokens;
        private boolean atStart;
        /** {@code [0, size)}: bytes that wait, of which {@code [0, whole)} are characters. */
        private byte[] run = new byte[16];
        private int size;
        private int whole;
        /** The run that goes on is no text. */
        private boolean broken;

        private Stream(boolean skipSpecialTokens, boolean atStart) {
            this.skipSpecialTokens = skipSpecialTokens;
            this.atStart = atStart;
        }

        @Override
        public String accept(int id) {
            @Nullable String text = id >= 0 && id < texts.length ? texts[id] : null;
            if (text == null || skipSpecialTokens && specialIds.get(id)) {
                return "";
            }
            if (bytes[id] != NO_BYTE) {
                return started(add((byte) bytes[id]));
            }
            String before = size == 0 ? "" : endRun();
            broken = false;
            if (before.isEmpty()) {
                return atStart ? started(text) : text;
            }
            return started(before).concat(text);
        }

        private String add(byte b) {
            if (broken) {
                return REPLACEMENT;
            }
            if (size == run.length) {
                run = Arrays.copyOf(run, 2 * size);
            }
            run[size++] = b;
            int length = LossyUtf8.sequence(run, whole, size);
            whole += Math.max(0, length);
            broken = length < 0;
            return broken ? endRun() : "";
        }

        private String endRun() {
            String text = whole == size ? new String(run, 0, size, StandardCharsets.UTF_8) : REPLACEMENT.repeat(size);
            size = 0;
            whole = 0;
            return text;
        }

        /** Without what is left out at the beginning. */
        private String started(String text) {
            if (!atStart || text.isEmpty()) {
                return text;
            }
            atStart = false;
            return switch (start) {
                case NOTHING -> text;
                case ONE_SPACE -> text.startsWith(" ") ? text.substring(1) : text;
                case SPACES_OF_FIRST_TOKEN -> text.replace(" ", "");
            };
        }

        @Override
        public String finish() {
            broken = false;
            return started(endRun());
        }
    }
}
