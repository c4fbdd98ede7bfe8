package dev.warmpath.tokenization.bpe;

import ai.djl.huggingface.tokenizers.jni.LibUtils;
import ai.djl.huggingface.tokenizers.jni.TokenizersLibrary;
import java.util.Arrays;

/** Asks the library's regular expressions, normalizers and number test about characters, through tiny tokenizers. */
final class LibraryPatterns {
    private final long handle;

    private LibraryPatterns(String json) {
        System.setProperty("RUST_FLAVOR", "cpu");
        LibUtils.checkStatus();
        handle = TokenizersLibrary.LIB.createTokenizerFromString(json);
    }

    /** Each match of the first becomes the first sign, and so on; a character that is no sign has the id 0. */
    static LibraryPatterns replacing(String[] patterns, String signs) {
        var steps = new StringBuilder();
        var vocab = new StringBuilder("\"<?>\": 0");
        for (int i = 0; i < patterns.length; i++) {
            String sign = signs.substring(i, i + 1);
            steps.append(i == 0 ? "" : ",").append("""
                    {"type": "Replace", "pattern": {"Regex": "%s"}, "content": "%s"}"""
                    .formatted(patterns[i].replace("\\", "\\\\"), sign));
            vocab.append(", \"%s\": %d".formatted(sign, i + 1));
        }
        return of("{\"type\": \"Sequence\", \"normalizers\": [" + steps + "]}", "null", vocab.toString(), false);
    }

    /** One id for each word that the pre-tokenizer makes. */
    static LibraryPatterns words(String preTokenizer) {
        return of("null", preTokenizer, "\"<?>\": 0", true);
    }

    private static LibraryPatterns of(String normalizer, String preTokenizer, String vocab, boolean fused) {
        return new LibraryPatterns("""
                {"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": %s,
                 "pre_tokenizer": %s, "post_processor": null, "decoder": null,
                 "model": {"type": "BPE", "dropout": null, "unk_token": "<?>", "continuing_subword_prefix": null,
                           "end_of_word_suffix": null, "fuse_unk": %s, "byte_fallback": false, "vocab": {%s},
                           "merges": []}}""".formatted(normalizer, preTokenizer, fused, vocab));
    }

    /** NFC by the library. */
    static LibraryPatterns composing() {
        var vocab = new StringBuilder();
        for (int b = 0; b < 256; b++) {
            String letter = String.valueOf(ByteLetters.letter(b)).replace("\\", "\\\\").replace("\"", "\\\"");
            vocab.append(b == 0 ? "" : ", ").append("\"%s\": %d".formatted(letter, b));
        }
        return of("{\"type\": \"NFC\"}", """
                {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}""",
                vocab + ", \"<?>\": 256", false);
    }

    int[] ids(String text) {
        long encoding = TokenizersLibrary.LIB.encode(handle, text, false);
        try {
            return Arrays.stream(TokenizersLibrary.LIB.getTokenIds(encoding)).mapToInt(Math::toIntExact).toArray();
        } finally {
            TokenizersLibrary.LIB.deleteEncoding(encoding);
        }
    }
}
