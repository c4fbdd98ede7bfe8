package dev.warmpath.router.fleet;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.router.tokenization.ModelTokenizer;
import org.jspecify.annotations.Nullable;

/** What the fleet knows about one model revision. Guarded by {@link Fleet}'s lock, but for what never changes. */
final class Revision {

    private final ModelDescription description;
    private @Nullable ServedModel model;
    private @Nullable String problem;
    private boolean loading;

    Revision(ModelDescription description) {
        this.description = description;
    }

    ModelDescription description() {
        return description;
    }

    @Nullable ServedModel model() {
        return model;
    }

    /** Why it is not served, or null. */
    @Nullable String problem() {
        return problem;
    }

    /** True for the one caller who is to load the model now. */
    boolean claimLoading() {
        boolean claimed = !loading && model == null;
        loading |= claimed;
        return claimed;
    }

    /** In what the model's files contradict its workers, with both values, or null. */
    @Nullable String contradiction(ModelTokenizer tokenizer) {
        if (tokenizer.vocabularySize() > description.vocabularySize()) {
            return "its tokenizer has " + tokenizer.vocabularySize() + " token ids, its workers take "
                    + description.vocabularySize();
        }
        if (tokenizer.contextLength() < description.contextLength()) {
            return "its files say a context of " + tokenizer.contextLength() + " tokens, its workers say "
                    + description.contextLength();
        }
        return null;
    }

    void loaded(ModelTokenizer tokenizer) {
        RevisionParts parts = description.parts();
        model = new ServedModel(description,
                new HashSettings(parts.hashAlgorithm(), parts.hashSeed(), parts.blockSize()), tokenizer);
        problem = null;
        loading = false;
    }

    void stuck(String reason) {
        problem = reason;
    }

    void giveUpLoading() {
        loading = false;
    }
}
