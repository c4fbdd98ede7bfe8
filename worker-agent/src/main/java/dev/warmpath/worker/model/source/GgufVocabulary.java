package dev.warmpath.worker.model.source;

import dev.warmpath.worker.model.weights.GgufMetadata;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The tokens of a GGUF file: what each is written as, what kind it is, and which have a part to play. Source:
 * llama.cpp, llama-vocab.cpp.
 */
final class GgufVocabulary {

    /** In the order of their numbers in the file, from 1 on: gguf-py, constants.py, TokenType. */
    private enum Kind { NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE }

    /** No such token. */
    static final int NONE = -1;

    /** Four times those of the largest published vocabulary. */
    static final int MOST_TOKENS = 1 << 20;

    static final String TOKENS = "tokenizer.ggml.tokens";
    private static final String KINDS = "tokenizer.ggml.token_type";
    private static final Kind[] KIND_BY_NUMBER = Kind.values();

    /**
     * Written so, a token ends a turn whatever the file says of it: many name one end only, and a model that means
     * another goes on forever. llama.cpp has the same rule, with more names.
     */
    private static final Set<String> ENDS = Set.of("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",
            "<|endoftext|>", "<|eom_id|>", "<|end_of_text|>", "<EOT>", "<｜end▁of▁sentence｜>");

    private final GgufMetadata metadata;
    private final List<String> texts = new ArrayList<>();
    private final Map<String, Integer> ids = new HashMap<>();
    private final int @Nullable [] kinds;
    private final int bos;
    private final int eos;
    private final int unknown;
    /** Ascending. */
    private final Set<Integer> ends = new TreeSet<>();

    /**
     * @param sentencePiece whether tokens that the file does not name are where SentencePiece puts them
     * @throws dev.warmpath.worker.model.weights.WeightFileException naming the key that contradicts itself
     */
    GgufVocabulary(GgufMetadata metadata, boolean sentencePiece) {
        this.metadata = metadata;
        if (metadata.length(TOKENS) > MOST_TOKENS) {
            throw refused("has %d tokens, takes %d".formatted(metadata.length(TOKENS), MOST_TOKENS));
        }
        metadata.texts(TOKENS, this::add);
        if (texts.isEmpty()) {
            throw refused("has no token");
        }
        kinds = metadata.integers(KINDS);
        if (kinds != null && kinds.length < texts.size()) {
            throw metadata.refused(KINDS, "has %d kinds for %d tokens".formatted(kinds.length, texts.size()));
        }
        bos = named("bos", sentencePiece ? 1 : NONE);
        eos = named("eos", sentencePiece ? 2 : NONE);
        unknown = named("unknown", sentencePiece ? 0 : NONE);
        addEnds();
    }

    private void add(int id, String written) {
        String text = written.isEmpty() ? "[EMPTY_%d]".formatted(id) : written;
        Integer other = ids.putIfAbsent(text, id);
        if (other != null) {
            throw refused("has the same text for tokens %d and %d".formatted(other, id));
        }
        texts.add(text);
    }

    private int named(String role, int absent) {
        String key = "tokenizer.ggml." + role + "_token_id";
        int id = metadata.count(key, absent);
        if (id >= texts.size() && metadata.has(key)) {
            throw metadata.refused(key, "is %d, of %d tokens".formatted(id, texts.size()));
        }
        return id < texts.size() ? id : NONE;
    }

    private void addEnds() {
        for (int id : new int[] {eos, named("eot", NONE), named("eom", NONE)}) {
            if (id != NONE) {
                ends.add(id);
            }
        }
        for (String text : ENDS) {
            Integer id = ids.get(text);
            if (id != null) {
                ends.add(id);
            }
        }
    }

    /** @param problem of the tokens, a clause that follows their key */
    RuntimeException refused(String problem) {
        return metadata.refused(TOKENS, problem);
    }

    int size() {
        return texts.size();
    }

    String text(int id) {
        return texts.get(id);
    }

    /** Null if the file names none. */
    @Nullable String textOrNull(int id) {
        return id == NONE ? null : texts.get(id);
    }

    /** {@link #NONE} if nothing is written so. */
    int id(String text) {
        return ids.getOrDefault(text, NONE);
    }

    int bos() {
        return bos;
    }

    int eos() {
        return eos;
    }

    int unknown() {
        return unknown;
    }

    int padding() {
        return named("padding", NONE);
    }

    /** Any of them ends an answer; ascending. */
    Set<Integer> ends() {
        return ends;
    }

    /** Whether it is found as a string before a text is tokenized. */
    boolean isAdded(int id) {
        return isSpecial(id) || kind(id) == Kind.USER_DEFINED;
    }

    /** Whether it is a marker, and no part of what people write. */
    boolean isSpecial(int id) {
        Kind kind = kind(id);
        return kind == Kind.CONTROL || kind == Kind.UNKNOWN || ends.contains(id) || id == bos;
    }

    /** Whether it can come of a text by merging. */
    boolean isMerged(int id) {
        Kind kind = kind(id);
        return (kind == Kind.NORMAL || kind == Kind.USER_DEFINED) && !isSpecial(id);
    }

    /** As ordinary tokens: where the file does not tell kinds, and for numbers that mean nothing yet. */
    private Kind kind(int id) {
        int number = kinds == null ? 1 : kinds[id];
        return number >= 1 && number <= KIND_BY_NUMBER.length ? KIND_BY_NUMBER[number - 1] : Kind.NORMAL;
    }
}
