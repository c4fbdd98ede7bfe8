package dev.warmpath.router.openai;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import dev.warmpath.router.completion.CompletionFlow;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.models.ServedModel;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** The models that can be asked now: of each name, the revision that takes most of the new requests. */
@RestController
final class ModelsController {

    private static final String OWNER = "warmpath";

    private final Fleet fleet;

    ModelsController(Fleet fleet) {
        this.fleet = fleet;
    }

    /**
     * OpenAI's model object with vLLM's extras, which agents read.
     *
     * @param maxModelLen most tokens of prompt and answer together
     * @param revision    what answers carry as {@code system_fingerprint}
     */
    @JsonInclude(JsonInclude.Include.ALWAYS)
    record Model(
            String id,
            String object,
            long created,
            @JsonProperty("owned_by") String ownedBy,
            String root,
            @Nullable String parent,
            @JsonProperty("max_model_len") int maxModelLen,
            String revision) {

        static Model of(ServedModel served) {
            var model = served.description();
            return new Model(model.name(), "model", model.createdSeconds(), OWNER, model.name(), null,
                    model.contextLength(), model.revision());
        }
    }

    record ModelList(String object, List<Model> data) {}

    @GetMapping("/v1/models")
    ModelList models() {
        return new ModelList("list", fleet.models().stream().map(ServedModel::name).distinct().sorted()
                .map(fleet::model).filter(Objects::nonNull).map(Model::of).toList());
    }

    /** The name may contain slashes, as {@code owner/model} does. */
    @GetMapping("/v1/models/{*name}")
    Model model(@PathVariable String name) {
        String id = name.substring(1);
        @Nullable ServedModel served = fleet.model(id);
        if (served == null) {
            throw CompletionFlow.notServed(id, fleet);
        }
        return Model.of(served);
    }
}
