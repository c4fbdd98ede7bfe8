package dev.warmpath.router.models;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.tokenization.ModelTokenizer;

/**
 * One revision of a model, ready for requests.
 *
 * @param hashSettings how its workers name blocks
 * @param tokenizer    with the chat template, if the model has one
 */
public record ServedModel(ModelDescription description, HashSettings hashSettings, ModelTokenizer tokenizer) {

    public String name() {
        return description.name();
    }

    public String revision() {
        return description.revision();
    }
}
