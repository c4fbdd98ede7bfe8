package dev.warmpath.tokenization.bpe;

import dev.warmpath.tokenization.bpe.Reading.UnknownException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * How SentencePiece's texts are prepared: spaces become {@code ▁}, and one may be put in front. A normalizer does that,
 * as for Llama 2 and Gemma, or a pre-tokenizer, as for Mistral's later models.
 * @param apart whether the pre-tokenizer cuts before each space
 */
record Metaspace(Preparation.Start start, boolean apart) {
    private static final String MARK = String.valueOf(Preparation.MARK);

    /** Null if neither does. */
    static @Nullable Metaspace of(JsonNode root) throws UnknownException {
        JsonNode normalizer = root.path("normalizer");
        JsonNode preTokenizer = root.path("pre_tokenizer");
        List<JsonNode> steps = Reading.isAbsent(normalizer) ? List.of() : Reading.steps(normalizer, "normalizers");
        if (steps.isEmpty()) {
            return Reading.type(preTokenizer).equals("Metaspace") ? ofMetaspace(preTokenizer) : null;
        }
        if (!Reading.type(steps.getLast()).equals("Replace")) {
            return null;
        }
        boolean prepends = steps.size() == 2 && prepends(steps.getFirst());
        if (steps.size() != (prepends ? 2 : 1) || !Reading.isReplace(steps.getLast(), " ", MARK)) {
            throw new UnknownException("the normalizer " + normalizer);
        }
        if (!Reading.isAbsent(preTokenizer) && !splitsAtSpace(preTokenizer)) {
            throw new UnknownException("the pre-tokenizer " + preTokenizer);
        }
        return new Metaspace(prepends ? Preparation.Start.SPACE : Preparation.Start.NOTHING, /* apart */ false);
    }

    private static boolean prepends(JsonNode step) throws UnknownException {
        if (!Reading.type(step).equals("Prepend")) {
            return false;
        }
        Reading.onlyKeys("Prepend", step, Set.of("type", "prepend"));
        return step.path("prepend").asString("").equals(MARK);
    }

    /** Gemma 2's and 3's, where the normalizer leaves no space to split at. */
    private static boolean splitsAtSpace(JsonNode step) throws UnknownException {
        if (!Reading.type(step).equals("Split")) {
            return false;
        }
        Reading.onlyKeys("Split", step, Set.of("type", "pattern", "behavior", "invert"));
        Reading.onlyKeys("Split's pattern", step.path("pattern"), Set.of("String"));
        return step.path("pattern").path("String").asString("").equals(" ")
                && step.path("behavior").asString("").equals("MergedWithPrevious")
                && !Reading.flag(step, "invert", false);
    }

    /** A pre-tokenizer, or the decoder that takes back what it did. */
    static Metaspace ofMetaspace(JsonNode step) throws UnknownException {
        Reading.onlyKeys("Metaspace", step,
                Set.of("type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"));
        if (!step.path("replacement").asString("").equals(MARK)) {
            throw new UnknownException("Metaspace's replacement " + step.path("replacement"));
        }
        return new Metaspace(start(step), Reading.flag(step, "split", true));
    }

    private static Preparation.Start start(JsonNode step) throws UnknownException {
        if (!Reading.flag(step, "add_prefix_space", true)) {
            return Preparation.Start.NOTHING;                    // of older files, which name no scheme
        }
        return switch (step.path("prepend_scheme").asString("always")) {
            case "always" -> Preparation.Start.SPACE_IF_NONE;
            case "first" -> Preparation.Start.SPACE_IF_NONE_AND_FIRST;
            case "never" -> Preparation.Start.NOTHING;
            default -> throw new UnknownException("Metaspace's scheme " + step.path("prepend_scheme"));
        };
    }
}
