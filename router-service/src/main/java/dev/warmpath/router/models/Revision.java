package dev.warmpath.router.models;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.tokenization.ModelTokenizer;
import org.jspecify.annotations.Nullable;

/** What is known about one revision of a model. Its owner sees to it that one thread at a time is in it. */
public final class Revision {

    private final ModelDescription description;
    private @Nullable ServedModel model;
    private @Nullable String problem;
    private boolean loading;

    Revision(ModelDescription description) {
        this.description = description;
    }

    public ModelDescription description() {
        return description;
    }

    public @Nullable ServedModel model() {
        return model;
    }

    /** Why it is not served, or null. */
    public @Nullable String problem() {
        return problem;
    }

    /** True for the one caller who is to load the model now. */
    boolean claimLoading() {
        boolean claimed = !loading && model == null;
        loading |= claimed;
        return claimed;
    }

    /**
     * From now on it can be served, unless its files contradict its workers; either way the loading is over.
     *
     * @return in what they do, with both values, or null
     */
    public @Nullable String load(ModelTokenizer tokenizer) {
        loading = false;
        String contradiction = contradiction(tokenizer);
        if (contradiction == null) {
            RevisionParts parts = description.parts();
            model = new ServedModel(description,
                    new HashSettings(parts.hashAlgorithm(), parts.hashSeed(), parts.blockSize()), tokenizer);
            problem = null;
        }
        return contradiction;
    }

    private @Nullable String contradiction(ModelTokenizer tokenizer) {
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

    public void stuck(String reason) {
        problem = reason;
    }

    void giveUpLoading() {
        loading = false;
    }
}
