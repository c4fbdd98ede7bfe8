package dev.warmpath.tokenization.bpe;

import dev.warmpath.tokenization.bpe.Reading.UnknownException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** SentencePiece's kind of model in tokenizer.json: merges of characters, bytes for those that the vocabulary lacks. */
final class CharacterModel {
    private static final int BYTES = 256;

    private CharacterModel() {}

    /** How a byte's token is named in the vocabulary: {@code <0x0A>}. */
    private static String byteName(int b) {
        return "<0x%02X>".formatted(b);
    }

    static Alphabet.Characters alphabet(JsonNode model) throws UnknownException {
        JsonNode vocab = model.path("vocab");
        Alphabet.Characters alphabet = Reading.flag(model, "byte_fallback", false)
                ? Alphabet.Characters.withBytes(byteIds(vocab)) : withUnknown(model);
        for (Map.Entry<String, JsonNode> entry : vocab.properties()) {
            String piece = entry.getKey();
            if (isCharacter(piece) && !piece.equals(" ")) {
                alphabet.put(written(piece.codePointAt(0)), entry.getValue().asInt(-1));
            }
        }
        if (!alphabet.has(' ')) {
            throw new UnknownException("a vocabulary without the piece " + Preparation.MARK);
        }
        return alphabet;
    }

    private static boolean isCharacter(String piece) {
        return !piece.isEmpty() && piece.length() == Character.charCount(piece.codePointAt(0));
    }

    /** @throws UnknownException if a character may be unknown in spite of them */
    private static int[] byteIds(JsonNode vocab) throws UnknownException {
        var ids = new int[BYTES];
        for (int b = 0; b < BYTES; b++) {
            ids[b] = vocab.path(byteName(b)).asInt(Alphabet.DROPPED);
            boolean needed = b < 0x80 ? !vocab.has(Character.toString(b)) : Utf8.isUsed(b);
            if (ids[b] == Alphabet.DROPPED && needed) {
                throw new UnknownException("a vocabulary without the piece " + byteName(b));
            }
        }
        return ids;
    }

    private static Alphabet.Characters withUnknown(JsonNode model) throws UnknownException {
        String token = model.path("unk_token").asString("");
        int id = model.path("vocab").path(token).asInt(-1);
        if (id < 0 || isCharacter(token)) {                      // one that texts have is not fused
            throw new UnknownException("a model without bytes and unknown token");
        }
        return Alphabet.Characters.withUnknown(id, Reading.flag(model, "fuse_unk", false));
    }

    /** @throws UnknownException if a token that stands in for what the vocabulary lacks is merged, too */
    static Seams seams(JsonNode model) throws UnknownException {
        Set<String> standIns = standIns(model);
        var seams = new Seams();
        for (JsonNode merge : model.path("merges")) {
            var pair = Recognition.Pair.of(merge);
            if (pair.left().isEmpty() || pair.right().isEmpty() || standIns.contains(pair.left())
                    || standIns.contains(pair.right()) || standIns.contains(pair.left() + pair.right())) {
                throw new UnknownException("the merge " + merge);
            }
            seams.close(written(pair.left().codePointBefore(pair.left().length())),
                    written(pair.right().codePointAt(0)));
        }
        return seams;
    }

    /** The bytes of a piece as a prepared text has them, null if none has: spaces of its own are nowhere in it. */
    static byte @Nullable [] spelled(String piece) {
        return piece.indexOf(' ') >= 0 ? null : piece.replace(Preparation.MARK, ' ').getBytes(StandardCharsets.UTF_8);
    }

    private static int written(int codePoint) {
        return codePoint == Preparation.MARK ? ' ' : codePoint;
    }

    private static Set<String> standIns(JsonNode model) throws UnknownException {
        var names = new HashSet<String>();
        if (Reading.flag(model, "byte_fallback", false)) {
            for (int b = 0; b < BYTES; b++) {
                names.add(byteName(b));
            }
        } else {
            names.add(model.path("unk_token").asString(""));
        }
        return names;
    }
}
