package dev.warmpath.tokenization.bpe;

import dev.warmpath.tokenization.bpe.Reading.UnknownException;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** Whether a tokenizer.json is one that is encoded here. */
public sealed interface Recognition {
    record Recognised(BpeEncoder encoder) implements Recognition {}

    /** @param what the first key or value that is not known, in words */
    record Unknown(String what) implements Recognition {}

    /** @param root tokenizer.json, as the library loads it */
    static Recognition of(JsonNode root) {
        try {
            return new Recognised(encoder(root));
        } catch (UnknownException e) {
            return new Unknown(String.valueOf(e.getMessage()));
        }
    }

    private static BpeEncoder encoder(JsonNode root) throws UnknownException {
        Reading.onlyKeys("tokenizer.json", root, Set.of("version", "truncation", "padding", "added_tokens",
                "normalizer", "pre_tokenizer", "post_processor", "decoder", "model"));
        JsonNode model = root.path("model");
        checkModel(model);
        @Nullable Metaspace spaces = Metaspace.of(root);
        return spaces == null ? ofBytes(root, model) : ofCharacters(spaces, model);
    }

    private static BpeEncoder ofBytes(JsonNode root, JsonNode model) throws UnknownException {
        boolean composes = Reading.composes(root.path("normalizer"));
        var words = Reading.Words.of(root.path("pre_tokenizer"));
        var start = words.prefixSpace() ? Preparation.Start.SPACE_IF_NONE : Preparation.Start.NOTHING;
        return new BpeEncoder(new Preparation(start, composes, /* spaced */ false), words.pattern(),
                new Alphabet.Bytes(byteIds(model)), vocabulary(model, ByteLetters::spelled), merges(model),
                Reading.flag(model, "ignore_merges", false));
    }

    private static BpeEncoder ofCharacters(Metaspace spaces, JsonNode model) throws UnknownException {
        if (Reading.flag(model, "ignore_merges", false)) {
            throw new UnknownException("a model that ignores merges of whole texts");
        }
        var pattern = new WordPattern.AtSeams(CharacterModel.seams(model), spaces.apart());
        return new BpeEncoder(new Preparation(spaces.start(), /* composes */ false, /* spaced */ true), pattern,
                CharacterModel.alphabet(model), vocabulary(model, CharacterModel::spelled), merges(model),
                /* ignoreMerges */ false);
    }

    private static void checkModel(JsonNode model) throws UnknownException {
        Reading.onlyKeys("the model", model, Set.of("type", "dropout", "unk_token", "continuing_subword_prefix",
                "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"));
        boolean plain = Reading.type(model).equals("BPE") && Reading.isAbsent(model.path("dropout"))
                && model.path("vocab").isObject() && model.path("merges").isArray();
        for (String affix : Set.of("continuing_subword_prefix", "end_of_word_suffix")) {
            plain &= Reading.isAbsent(model.path(affix)) || model.path(affix).asString("?").isEmpty();
        }
        if (!plain) {
            throw new UnknownException("a model that is not BPE, drops merges, or marks where words begin or end");
        }
    }

    /** By byte: its id, or what stands in for one that the vocabulary lacks. */
    private static int[] byteIds(JsonNode model) throws UnknownException {
        var ids = new int[256];
        for (int b = 0; b < ids.length; b++) {
            ids[b] = model.path("vocab").path(String.valueOf(ByteLetters.letter(b))).asInt(Alphabet.DROPPED);
            if (ids[b] == Alphabet.DROPPED && Utf8.isUsed(b)) {
                ids[b] = unknownId(model);
            }
        }
        return ids;
    }

    private static int unknownId(JsonNode model) throws UnknownException {
        JsonNode token = model.path("unk_token");
        int id = model.path("vocab").path(token.asString("")).asInt(Alphabet.DROPPED);
        boolean known = Reading.isAbsent(token) || id != Alphabet.DROPPED && !Reading.flag(model, "fuse_unk", false);
        if (!known || Reading.flag(model, "byte_fallback", false)) {
            throw new UnknownException("a vocabulary that lacks bytes, and what is done about it");
        }
        return Reading.isAbsent(token) ? Alphabet.DROPPED : id;
    }

    /** @param spelled a piece's bytes, null if no text has them */
    private static Vocabulary vocabulary(JsonNode model, Function<String, byte @Nullable []> spelled)
            throws UnknownException {
        JsonNode vocab = model.path("vocab");
        int last = StreamSupport.stream(vocab.spliterator(), false).mapToInt(id -> id.asInt(-1)).max().orElse(0);
        if (last > 8 * vocab.size()) {
            throw new UnknownException("the id " + last + " in a vocabulary of " + vocab.size());
        }
        var words = new Vocabulary(last + 1);
        for (Map.Entry<String, JsonNode> entry : vocab.properties()) {
            byte @Nullable [] bytes = spelled.apply(entry.getKey());
            if (bytes != null && !words.put(entry.getValue().asInt(-1), bytes)) {
                throw new UnknownException("the piece '" + entry.getKey() + "' with the id " + entry.getValue());
            }
        }
        return words;
    }

    private static MergeTable merges(JsonNode model) throws UnknownException {
        JsonNode vocab = model.path("vocab");
        JsonNode merges = model.path("merges");
        var table = new MergeTable(merges.size());
        for (int rank = 0; rank < merges.size(); rank++) {
            Pair pair = Pair.of(merges.get(rank));
            int left = vocab.path(pair.left).asInt(-1);
            int right = vocab.path(pair.right).asInt(-1);
            int both = vocab.path(pair.left.concat(pair.right)).asInt(-1);
            if (left < 0 || right < 0 || both < 0) {
                throw new UnknownException("the merge " + merges.get(rank));
            }
            table.put(left, right, rank, both);
        }
        return table;
    }

    /** {@code "a b"} or {@code ["a", "b"]}. */
    record Pair(String left, String right) {
        static Pair of(JsonNode merge) throws UnknownException {
            if (merge.isArray() && merge.size() == 2) {
                return new Pair(merge.get(0).asString(""), merge.get(1).asString(""));
            }
            String text = merge.asString("");
            int space = text.indexOf(' ');
            if (space < 0 || space != text.lastIndexOf(' ')) {
                throw new UnknownException("the merge " + merge);
            }
            return new Pair(text.substring(0, space), text.substring(space + 1));
        }
    }
}
