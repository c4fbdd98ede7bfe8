package dev.warmpath.tokenization;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** Tokenizers of every family that is encoded here, over vocabularies that are at hand. */
enum Variant {
    GPT2("byte-level", byteLevel(false, true), "null", false),
    GPT2_PREFIX_SPACE("tiny", byteLevel(true, true), "null", false),
    GPT2_SPLIT("random", split(Variant.GPT2_REGEX, "Isolated", false), "null", false),
    DIGITS_SINGLE("random", digits(true), "null", false),
    /** Bytes that the vocabulary lacks are dropped, as SmolLM2 drops some, or unknown. */
    DIGITS_LACKING("lacking", digits(true), "null", false),
    LLAMA3_UNKNOWN("unknown", split(Variant.CL100K_REGEX.formatted("{1,3}"), "Isolated", false), "null", true),
    DIGITS_RUNS("tiny", digits(false), "null", false),
    LLAMA3("random", split(Variant.CL100K_REGEX.formatted("{1,3}"), "Isolated", false), "null", true),
    CL100K_INVERTED("tiny", split(Variant.CL100K_REGEX.formatted("{1,3}"), "Removed", true), "null", false),
    QWEN2("tiny", split(Variant.CL100K_REGEX.formatted(""), "Isolated", false), "{\"type\": \"NFC\"}", false),
    QWEN2_RANDOM("random", split(Variant.CL100K_REGEX.formatted(""), "Isolated", false), "{\"type\": \"NFC\"}", false),
    O200K("tiny", split(Variant.O200K_REGEX.formatted(Variant.ENDINGS, "{1,3}"), "Isolated", false), "null", false),
    TEKKEN("random", split(Variant.O200K_REGEX.formatted("", ""), "Isolated", false), "null", true),
    DEEP_SEEK3("random", Variant.deepSeek3(), "{\"type\": \"Sequence\", \"normalizers\": []}", false),
    LLAMA2("metaspace", "null", Variant.PREPEND_AND_REPLACE, false),
    LLAMA2_RANDOM("characters", "null", Variant.PREPEND_AND_REPLACE, false),
    /** Characters that the vocabulary lacks are unknown, each or as many as come together. */
    LLAMA2_UNKNOWN("characters, no bytes", "null", Variant.PREPEND_AND_REPLACE, false),
    LLAMA2_FUSED("characters, no bytes, fused", "null", Variant.PREPEND_AND_REPLACE, false),
    GEMMA("metaspace", "null", Variant.REPLACE, false),
    GEMMA3_RANDOM("characters", Variant.SPLIT_AT_SPACE, Variant.REPLACE, false),
    MISTRAL("metaspace", Variant.metaspace("first", false), "null", false),
    MISTRAL_RANDOM("characters", Variant.metaspace("first", false), "null", false),
    METASPACE_NEVER("metaspace", Variant.metaspace("never", false), "null", false),
    METASPACE_APART("characters, Metaspace decodes", Variant.metaspace("always", true), "null", false),
    METASPACE_APART_FUSED("characters, no bytes, fused", Variant.metaspace("first", true), "null", false);

    private static final String GPT2_REGEX =
            "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    private static final String CL100K_REGEX = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}%s"
            + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    private static final String ENDINGS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
    private static final String O200K_REGEX =
            "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+%1$s"
            + "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*%1$s"
            + "|\\p{N}%2$s| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    private static final String REPLACE =
            "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"▁\"}";
    private static final String PREPEND_AND_REPLACE =
            "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"▁\"}, " + REPLACE + "]}";
    private static final String SPLIT_AT_SPACE = "{\"type\": \"Split\", \"pattern\": {\"String\": \" \"}, "
            + "\"behavior\": \"MergedWithPrevious\", \"invert\": false}";
    private static final JsonMapper MAPPER = JsonMapper.shared();

    private final String vocabulary;
    private final String preTokenizer;
    private final String normalizer;
    private final boolean ignoreMerges;

    Variant(String vocabulary, String preTokenizer, String normalizer, boolean ignoreMerges) {
        this.vocabulary = vocabulary;
        this.preTokenizer = preTokenizer;
        this.normalizer = normalizer;
        this.ignoreMerges = ignoreMerges;
    }

    /** tokenizer.json. */
    byte[] json() {
        var root = (ObjectNode) MAPPER.readTree(switch (vocabulary) {
            case "tiny" -> tiny();
            case "random" -> RandomVocabulary.OF_BYTES;
            case "lacking", "unknown" -> lacking(RandomVocabulary.OF_BYTES);
            case "characters", "characters, no bytes", "characters, no bytes, fused", "characters, Metaspace decodes" ->
                    RandomVocabulary.OF_CHARACTERS;
            default -> new String(TestTokenizers.resource(vocabulary + ".json"), StandardCharsets.UTF_8);
        });
        root.set("pre_tokenizer", MAPPER.readTree(preTokenizer));
        root.set("normalizer", MAPPER.readTree(normalizer));
        ((ObjectNode) root.path("model")).put("ignore_merges", ignoreMerges);
        if (vocabulary.equals("unknown")) {
            ((ObjectNode) root.path("model")).put("unk_token", "e");
        }
        if (vocabulary.contains("no bytes")) {
            ((ObjectNode) root.path("model")).put("byte_fallback", false).put("fuse_unk", vocabulary.contains("fused"));
        }
        if (vocabulary.contains("Metaspace decodes")) {
            root.set("decoder", MAPPER.readTree(preTokenizer));
        }
        return MAPPER.writeValueAsBytes(root);
    }

    /** Without the bytes 0x04, 0xA1 and 0xF0, and all pieces and merges that have them. */
    private static String lacking(String json) {
        Pattern gone = Pattern.compile("[\u0104\u00a1\u00f0]");
        var model = (ObjectNode) MAPPER.readTree(json).path("model");
        ObjectNode vocab = MAPPER.createObjectNode();
        model.path("vocab").properties().stream().filter(piece -> !gone.matcher(piece.getKey()).find())
                .forEach(piece -> vocab.put(piece.getKey(), vocab.size()));
        ArrayNode merges = MAPPER.createArrayNode();
        model.path("merges").values().stream().filter(merge -> !gone.matcher(merge.toString()).find())
                .forEach(merges::add);
        var root = (ObjectNode) MAPPER.readTree(json);
        ((ObjectNode) root.path("model")).set("vocab", vocab);
        ((ObjectNode) root.path("model")).set("merges", merges);
        renumberAdded(root, vocab);
        return root.toString();
    }

    /** Behind the vocabulary, where the library numbers them, but for those that are in it. */
    private static void renumberAdded(JsonNode root, JsonNode vocab) {
        int next = vocab.size();
        for (JsonNode token : root.path("added_tokens")) {
            @Nullable JsonNode known = vocab.get(token.path("content").asString());
            ((ObjectNode) token).put("id", known == null ? next++ : known.asInt());
        }
    }

    ModelTokenizer tokenizer() {
        return new ModelTokenizer(new ModelFiles(json(), TestTokenizers.bytes("{}"), null, null));
    }

    private static String tiny() {
        try {
            return Files.readString(Path.of("../models/warmpath-tiny/tokenizer.json"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String byteLevel(boolean prefixSpace, boolean regex) {
        return "{\"type\": \"ByteLevel\", \"add_prefix_space\": %s, \"trim_offsets\": true, \"use_regex\": %s}"
                .formatted(prefixSpace, regex);
    }

    private static String metaspace(String scheme, boolean split) {
        return "{\"type\": \"Metaspace\", \"replacement\": \"▁\", \"prepend_scheme\": \"%s\", \"split\": %s}"
                .formatted(scheme, split);
    }

    private static String digits(boolean individual) {
        return "{\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\", \"individual_digits\": %s}, %s]}"
                .formatted(individual, byteLevel(false, true));
    }

    private static String deepSeek3() {
        var steps = new StringJoiner(", ");
        for (String regex : List.of("\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+",
                "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
                + "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+")) {
            steps.add(step(regex, "Isolated", false).toString());
        }
        return "{\"type\": \"Sequence\", \"pretokenizers\": [%s, %s]}".formatted(steps, byteLevel(false, false));
    }

    private static String split(String regex, String behavior, boolean invert) {
        return "{\"type\": \"Sequence\", \"pretokenizers\": [%s, %s]}"
                .formatted(step(regex, behavior, invert), byteLevel(false, false));
    }

    private static ObjectNode step(String regex, String behavior, boolean invert) {
        ObjectNode split = JsonMapper.shared().createObjectNode()                 // MAPPER is yet to come
                .put("type", "Split").put("behavior", behavior).put("invert", invert);
        split.putObject("pattern").put("Regex", regex);
        return split;
    }

    /**
     * 20,000 merges of any two pieces, the later of longer ones: many pieces are out of reach of their own merges,
     * which trained vocabularies hardly show.
     */
    private static final class RandomVocabulary {
        private static final String OF_BYTES =
                make("byte-level.json", Set.of(), "etaoinshrdlucmfwypgbkETAOINĠĠĠĊĠ.,'s01");
        /** Pieces have spaces anywhere, so that merges cross the borders of words. */
        private static final String OF_CHARACTERS =
                make("metaspace.json", standIns(), "etaoinshrdlucmfwypgbkETAOIN▁▁▁\n▁.,'s01");

        /** Pieces that no merge has: bytes, and the unknown one. */
        private static Set<String> standIns() {
            var names = new LinkedHashSet<>(List.of("<unk>"));
            IntStream.range(0, 256).forEach(b -> names.add("<0x%02X>".formatted(b)));
            return names;
        }

        private static String make(String file, Set<String> unmerged, String common) {
            JsonNode like = MAPPER.readTree(TestTokenizers.resource(file));
            var pieces = new ArrayList<String>();
            like.path("model").path("vocab").propertyNames().stream()
                    .filter(piece -> piece.length() == 1 && !piece.equals(" ")).forEach(pieces::add);
            var merges = new ArrayList<List<String>>();
            var known = new HashSet<>(pieces);
            var random = new Random(17);
            while (merges.size() < 20_000) {
                String left = part(pieces, common, random);
                String right = part(pieces, common, random);
                if (left.length() + right.length() <= 24 && known.add(left + right)) {
                    pieces.add(left + right);
                    merges.add(List.of(left, right));
                }
            }
            pieces.addAll(0, unmerged);
            return written(like, pieces, merges);
        }

        private static String part(List<String> pieces, String common, Random random) {
            int at = random.nextInt(common.length());
            return random.nextInt(5) < 2 ? common.substring(at, at + 1) : pieces.get(random.nextInt(pieces.size()));
        }

        private static String written(JsonNode like, List<String> pieces, List<List<String>> merges) {
            var root = (ObjectNode) like.deepCopy();
            var model = (ObjectNode) root.path("model");
            ObjectNode vocab = model.putObject("vocab");
            pieces.forEach(piece -> vocab.put(piece, vocab.size()));
            model.set("merges", MAPPER.valueToTree(merges));
            renumberAdded(root, vocab);
            root.putNull("post_processor");
            return root.toString();
        }
    }
}
