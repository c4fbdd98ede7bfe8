package dev.warmpath.tokenization.bpe;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;

class RecognitionTest {

    /** Each is one change to the file of the model in the repository; everything else about it is known. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            "version": "1.0"          | "version": "1.0", "new": 1    | tokenizer.json has the unknown key new
            "dropout": null           | "dropout": 0.1                | a model that is not BPE, drops merges, or
            "type": "BPE"             | "type": "WordPiece"           | a model that is not BPE, drops merges, or
            "fuse_unk": false         | "fuse_unk": false, "x": true  | the model has the unknown key x
            "end_of_word_suffix": null | "end_of_word_suffix": "</w>" | a model that is not BPE, drops merges, or
            "ignore_merges": false    | "ignore_merges": "no"         | ignore_merges is "no"
            "normalizer": null        | "normalizer": {"type": "NFKC"} | the normalizer {"type":"NFKC"}
            "behavior": "Isolated"    | "behavior": "MergedWithNext"  | the pre-tokenizer {"type":"Split"
            "invert": false           | "invert": true                | the pre-tokenizer {"type":"Split"
            {1,3}                     | {1,4}                         | the pattern (?i:'s|'t|
            "add_prefix_space": false | "add_prefix_space": true      | the pre-tokenizer {"type":"Sequence"
            "use_regex": false        | "use_regex": true             | the pre-tokenizer {"type":"Sequence"
            "Ġ a"                     | "Ġ  a"                        | the merge "Ġ  a"
            "Ġ a"                     | "Ġ qqqqq"                     | the merge "Ġ qqqqq"
            """)
    void what_is_not_known_exactly_is_not_recognised_and_named(String known, String unknown, String reason)
            throws IOException {
        check(Files.readString(Path.of("../models/warmpath-tiny/tokenizer.json")), known, unknown, reason);
    }

    /** The same to one of characters. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            "split": true             | "split": true, "new": 1       | Metaspace has the unknown key new
            "prepend_scheme": "first" | "prepend_scheme": "last"      | Metaspace's scheme "last"
            "replacement": "▁"        | "replacement": "_"            | Metaspace's replacement "_"
            "ignore_merges": false    | "ignore_merges": true         | a model that ignores merges of whole texts
            "normalizer": null        | "normalizer": {"type": "NFC"} | the pre-tokenizer {"type":"Metaspace"
            "<0xE4>"                  | "<0xe4>"                      | a vocabulary without the piece <0xE4>
            "byte_fallback": true     | "byte_fallback": false, "unk_token": "" | a model without bytes and unknown
            "merges": [               | "merges": [["<0xE4>", "a"],   | the merge ["<0xE4>","a"]
            "▁": 360                  | "▁ ": 360                     | a vocabulary without the piece ▁
            """)
    void what_is_not_known_exactly_of_characters_is_not_recognised_and_named(
            String known, String unknown, String reason) throws IOException {
        check(Files.readString(Path.of("src/test/resources/tokenizers/metaspace.json")), known, unknown, reason);
    }

    private static void check(String json, String known, String unknown, String reason) {
        assertThat(json).contains(known);
        assertThat(Recognition.of(JsonMapper.shared().readTree(json))).isInstanceOf(Recognition.Recognised.class);
        assertThat(Recognition.of(JsonMapper.shared().readTree(json.replace(known, unknown))))
                .isInstanceOfSatisfying(Recognition.Unknown.class, it -> assertThat(it.what()).startsWith(reason));
    }
}
