package dev.warmpath.worker.model.source;

import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.worker.model.weights.GgufMetadata;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The files about text that a GGUF file stands for, so that routers and the Hugging Face library read them as a model's
 * own. Two kinds of tokenizers: byte-level BPE ({@code gpt2}), whose pre-tokenizer is known by its name, and
 * SentencePiece's BPE ({@code llama}).
 */
final class GgufTokenizer {

    private static final Logger log = LoggerFactory.getLogger(GgufTokenizer.class);

    private static final String MODEL = "tokenizer.ggml.model";
    private static final String PRE = "tokenizer.ggml.pre";
    private static final String MERGES = "tokenizer.ggml.merges";
    private static final String SCORES = "tokenizer.ggml.scores";
    private static final String ADD_BOS = "tokenizer.ggml.add_bos_token";
    private static final String ADD_EOS = "tokenizer.ggml.add_eos_token";
    private static final String ADD_SPACE = "tokenizer.ggml.add_space_prefix";
    private static final String TEMPLATE = "tokenizer.chat_template";
    private static final String SPACE = "▁";
    private static final String FIRST_BYTE = "<0x00>";
    private static final Set<String> PHI3_PLAIN = Set.of("<unk>", "<s>", "<|endoftext|>");
    private static final JsonMapper JSON = JsonMapper.shared();

    private final GgufMetadata metadata;
    /** Null for SentencePiece's. */
    private final @Nullable PreTokenizer words;
    private final GgufVocabulary vocabulary;

    /** @throws dev.warmpath.worker.model.weights.WeightFileException naming the key that is not understood */
    GgufTokenizer(GgufMetadata metadata) {
        this.metadata = metadata;
        this.words = switch (metadata.text(MODEL)) {
            case "gpt2" -> preTokenizer();
            case "llama" -> null;
            case String other -> throw metadata.refused(MODEL, "is %s, takes gpt2 and llama".formatted(other));
        };
        this.vocabulary = new GgufVocabulary(metadata, words == null);
    }

    private PreTokenizer preTokenizer() {
        if (!metadata.has(PRE)) {
            log.warn("the file has no {}: texts are cut by default, and maybe not as its model has learnt it", PRE);
        }
        String name = metadata.text(PRE, "default");
        PreTokenizer found = name == null ? null : PreTokenizer.named(name);
        if (found == null) {
            throw metadata.refused(PRE, "is %s, takes %s".formatted(name, PreTokenizer.allNames()));
        }
        return found;
    }

    /** @param embedding tokens that the model has; rows beyond the last token may fill it up */
    void requireWithin(int embedding) {
        if (vocabulary.size() > embedding) {
            throw vocabulary.refused("has %d tokens, but the embedding %d".formatted(vocabulary.size(), embedding));
        }
    }

    /** As much of a file as routers take. */
    private final class Bounded extends ByteArrayOutputStream {
        @Override
        public void write(byte[] bytes, int offset, int length) {
            if (length > ModelSource.MAX_FILE_BYTES - size()) {
                throw vocabulary.refused("makes a tokenizer.json of more than %,d bytes, which is what routers take"
                        .formatted(ModelSource.MAX_FILE_BYTES));
            }
            super.write(bytes, offset, length);
        }
    }

    /** tokenizer.json. */
    byte[] tokenizer() {
        var bytes = new Bounded();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            json.writeStringProperty("version", "1.0");
            json.writeNullProperty("truncation");
            json.writeNullProperty("padding");
            writeAddedTokens(json);
            json.writeName("normalizer").writeTree(normalizer());
            json.writeName("pre_tokenizer").writeTree(words == null ? JSON.nullNode() : preTokenizer(words));
            json.writeName("post_processor").writeTree(postProcessor());
            json.writeName("decoder").writeTree(decoder());
            writeModel(json);
            json.writeEndObject();
        }
        return bytes.toByteArray();
    }

    private void writeAddedTokens(JsonGenerator json) {
        json.writeName("added_tokens").writeStartArray();
        for (int id = 0; id < vocabulary.size(); id++) {
            if (vocabulary.isAdded(id)) {
                json.writeTree(JSON.createObjectNode().put("id", id).put("content", vocabulary.text(id))
                        .put("single_word", false).put("lstrip", false).put("rstrip", takesSpaceAlong(id))
                        .put("normalized", false)
                        .put("special", vocabulary.isSpecial(id)));
            }
        }
        json.writeEndArray();
    }

    /** Markers of Phi 3 take white space behind them along; files do not say so, and llama.cpp knows it, too. */
    private boolean takesSpaceAlong(int id) {
        return words == null && GgufArchitecture.of(metadata) == GgufArchitecture.PHI3 && vocabulary.isSpecial(id)
                && !PHI3_PLAIN.contains(vocabulary.text(id));
    }

    /** SentencePiece's spaces are marks, and one is put before each text; composed characters are Qwen's. */
    private JsonNode normalizer() {
        if (words != null) {
            return words.composes() ? typed("NFC") : JSON.nullNode();
        }
        ObjectNode marks = replace(" ", SPACE);
        return addsSpace() ? sequence("normalizers", typed("Prepend").put("prepend", SPACE), marks) : marks;
    }

    private boolean addsSpace() {
        return metadata.flag(ADD_SPACE, true);
    }

    private static ObjectNode preTokenizer(PreTokenizer words) {
        List<ObjectNode> steps = new ArrayList<>();
        if (words.words == PreTokenizer.Words.SINGLE_DIGITS_THEN_GPT2) {
            steps.add(typed("Digits").put("individual_digits", true));
        }
        for (String pattern : words.patterns) {
            ObjectNode split = typed("Split").put("behavior", "Isolated").put("invert", false);
            split.putObject("pattern").put("Regex", pattern);
            steps.add(split);
        }
        steps.add(byteLevel(/* prefixSpace */ false, words.words != PreTokenizer.Words.PATTERNS));
        return steps.size() == 1 ? steps.getFirst() : sequence("pretokenizers", steps.toArray(ObjectNode[]::new));
    }

    /** What is put around a text that is no conversation: those have it in their template. */
    private JsonNode postProcessor() {
        boolean addsBos = metadata.flag(ADD_BOS, words == null || words.addsBegin());
        String begin = addsBos ? required(ADD_BOS, vocabulary.bos()) : null;
        String end = metadata.flag(ADD_EOS, false) ? required(ADD_EOS, vocabulary.eos()) : null;
        if (begin == null && end == null) {
            return JSON.nullNode();
        }
        ObjectNode processor = typed("TemplateProcessing");
        addTemplate(processor.putArray("single"), begin, end, "A");
        addTemplate(processor.putArray("pair"), begin, end, "A", "B");
        ObjectNode tokens = processor.putObject("special_tokens");
        for (String token : Stream.of(begin, end).filter(Objects::nonNull).distinct().toList()) {
            ObjectNode described = tokens.putObject(token).put("id", token);
            described.putArray("ids").add(vocabulary.id(token));
            described.putArray("tokens").add(token);
        }
        return processor;
    }

    private String required(String key, int id) {
        String text = vocabulary.textOrNull(id);
        if (text == null) {
            throw metadata.refused(key, "is true, but the file does not say which token that is");
        }
        return text;
    }

    private static void addTemplate(ArrayNode template, @Nullable String begin, @Nullable String end,
            String... sequences) {
        for (int i = 0; i < sequences.length; i++) {
            addSpecial(template, begin, i);
            template.addObject().putObject("Sequence").put("id", sequences[i]).put("type_id", i);
            addSpecial(template, end, i);
        }
    }

    private static void addSpecial(ArrayNode template, @Nullable String token, int sequence) {
        if (token != null) {
            template.addObject().putObject("SpecialToken").put("id", token).put("type_id", sequence);
        }
    }

    private ObjectNode decoder() {
        if (words != null) {
            return byteLevel(/* prefixSpace */ true, /* regex */ true);
        }
        List<ObjectNode> steps = new ArrayList<>(List.of(replace(SPACE, " "), typed("ByteFallback"), typed("Fuse")));
        if (addsSpace()) {
            steps.add(typed("Strip").put("content", " ").put("start", 1).put("stop", 0));
        }
        return sequence("decoders", steps.toArray(ObjectNode[]::new));
    }

    private void writeModel(JsonGenerator json) {
        json.writeName("model").writeStartObject();
        json.writeStringProperty("type", "BPE");
        json.writeNullProperty("dropout");
        String unknown = words == null ? vocabulary.textOrNull(vocabulary.unknown()) : null;
        if (unknown == null) {
            json.writeNullProperty("unk_token");
        } else {
            json.writeStringProperty("unk_token", unknown);
        }
        json.writeNullProperty("continuing_subword_prefix");
        json.writeNullProperty("end_of_word_suffix");
        json.writeBooleanProperty("fuse_unk", words == null);
        json.writeBooleanProperty("byte_fallback", words == null && vocabulary.id(FIRST_BYTE) != GgufVocabulary.NONE);
        json.writeBooleanProperty("ignore_merges", words != null && words.ignoresMerges());
        json.writeName("vocab").writeStartObject();
        for (int id = 0; id < vocabulary.size(); id++) {
            json.writeNumberProperty(vocabulary.text(id), id);
        }
        json.writeEndObject();
        json.writeName("merges").writeStartArray();
        if (words == null) {
            writePieces(json);
        } else {
            metadata.texts(MERGES, (index, merge) -> json.writeString(checked(index, merge)));
        }
        json.writeEndArray();
        json.writeEndObject();
    }

    private void writePieces(JsonGenerator json) {
        float[] scores = metadata.numbers(SCORES);
        if (scores == null || scores.length < vocabulary.size()) {
            throw metadata.refused(SCORES, "has %d scores for %d tokens".formatted(scores == null ? 0 : scores.length,
                    vocabulary.size()));
        }
        for (var merge : SentencePieceMerges.of(vocabulary, scores)) {
            json.writeStartArray().writeString(merge.left()).writeString(merge.right()).writeEndArray();
        }
    }

    /** Byte-level pieces have no space in them: one space parts the two. */
    private String checked(int index, String merge) {
        int space = merge.indexOf(' ');
        boolean isPair = space > 0 && space == merge.lastIndexOf(' ') && space < merge.length() - 1;
        if (!isPair || vocabulary.id(merge.substring(0, space)) == GgufVocabulary.NONE
                || vocabulary.id(merge.substring(space + 1)) == GgufVocabulary.NONE
                || vocabulary.id(merge.replace(" ", "")) == GgufVocabulary.NONE) {
            throw metadata.refused(MERGES, "has merge %d, '%s', which does not make a token of two"
                    .formatted(index, ForeignText.oneLine(merge, 100)));
        }
        return merge;
    }

    /** tokenizer_config.json. @param contextLength positions of the model */
    byte[] tokenizerConfig(int contextLength) {
        ObjectNode config = JSON.createObjectNode();
        putToken(config, "bos_token", vocabulary.bos());
        putToken(config, "eos_token", vocabulary.eos());
        putToken(config, "unk_token", vocabulary.unknown());
        putToken(config, "pad_token", vocabulary.padding());
        String template = metadata.text(TEMPLATE, null);
        if (template != null) {
            config.put("chat_template", template);
        }
        config.put("clean_up_tokenization_spaces", false).put("model_max_length", contextLength)
                .put("tokenizer_class", "PreTrainedTokenizerFast");
        return bytes(config);
    }

    private void putToken(ObjectNode config, String name, int id) {
        String text = vocabulary.textOrNull(id);
        if (text != null) {
            config.put(name, text);
        }
    }

    /** generation_config.json: which tokens end an answer, and how the makers want tokens drawn. */
    byte[] generationConfig() {
        ObjectNode config = JSON.createObjectNode();
        putId(config, "bos_token_id", vocabulary.bos());
        putId(config, "pad_token_id", vocabulary.padding());
        ArrayNode ends = JSON.createArrayNode();
        vocabulary.ends().forEach(ends::add);
        if (!ends.isEmpty()) {
            config.set("eos_token_id", ends.size() == 1 ? ends.get(0) : ends);
        }
        putSampling(config, "temperature", "general.sampling.temp");
        putSampling(config, "top_p", "general.sampling.top_p");
        if (metadata.has("general.sampling.top_k")) {
            config.put("top_k", metadata.count("general.sampling.top_k"));
        }
        return bytes(config);
    }

    private static void putId(ObjectNode config, String name, int id) {
        if (id != GgufVocabulary.NONE) {
            config.put(name, id);
        }
    }

    private void putSampling(ObjectNode config, String name, String key) {
        if (metadata.has(key)) {
            config.put(name, metadata.number(key));
        }
    }

    private static byte[] bytes(ObjectNode file) {
        return file.toPrettyString().getBytes(StandardCharsets.UTF_8);
    }

    private static ObjectNode typed(String type) {
        return JSON.createObjectNode().put("type", type);
    }

    private static ObjectNode sequence(String name, ObjectNode... steps) {
        ObjectNode sequence = typed("Sequence");
        sequence.putArray(name).addAll(List.of(steps));
        return sequence;
    }

    private static ObjectNode replace(String before, String after) {
        ObjectNode replace = typed("Replace").put("content", after);
        replace.putObject("pattern").put("String", before);
        return replace;
    }

    private static ObjectNode byteLevel(boolean prefixSpace, boolean regex) {
        return typed("ByteLevel").put("add_prefix_space", prefixSpace).put("trim_offsets", true)
                .put("use_regex", regex);
    }
}
