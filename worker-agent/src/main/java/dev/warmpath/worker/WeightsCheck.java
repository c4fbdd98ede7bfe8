package dev.warmpath.worker;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Whether all files of a model's weights are there. What stands in them is read when the model is measured. */
final class WeightsCheck {

    private static final String INDEX = "model.safetensors.index.json";
    private static final Pattern WEIGHTS = Pattern.compile(".+\\.safetensors");
    private static final Pattern SHARD = Pattern.compile("(.+-)\\d{5}(-of-(\\d{5})\\.safetensors)");
    /** Of names that files speak of. */
    private static final int MOST_NAMES = 10_000;
    private static final Pattern OTHERS = Pattern.compile(".+\\.(bin|pth|pt|ckpt|h5|msgpack|onnx|npz|tflite)");

    private final FolderCheck folder;

    private WeightsCheck(FolderCheck folder) {
        this.folder = folder;
    }

    /** What is missing is a problem. */
    static void requireAll(FolderCheck folder) {
        new WeightsCheck(folder).requireAll();
    }

    private void requireAll() {
        List<String> weights = folder.like(WEIGHTS);
        if (weights.isEmpty()) {
            addNone(folder.like(OTHERS));
            return;
        }
        List<String> pointers = weights.stream().filter(folder::isPointer).toList();
        if (!pointers.isEmpty()) {
            folder.addPointers(pointers);
        }
        Set<String> lacking = folder.has(INDEX) ? ofIndex() : ofNames(weights);
        lacking.removeIf(folder::has);
        if (!lacking.isEmpty()) {
            folder.add("%s lacks %d of its weight files: %s".formatted(folder.path(), lacking.size(),
                    FolderCheck.listed(lacking)), "Fetch what is missing; a download may have broken off");
        }
    }

    private void addNone(List<String> others) {
        if (others.isEmpty()) {
            folder.addMissing("*.safetensors", "Fetch the weights, too");
        } else {
            folder.add("%s has no *.safetensors, only %s, which is not read".formatted(folder.path(),
                    FolderCheck.listed(others)), "Convert it, such as by transformers: "
                            + "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(other)");
        }
    }

    /** The files that the index sends tensors to. */
    private Set<String> ofIndex() {
        Set<String> files = new TreeSet<>();
        JsonNode index = folder.json(INDEX);
        if (index != null) {
            index.path("weight_map").forEach(file -> files.add(file.asString("")));
        }
        return files;
    }

    /** The files that names such as {@code model-00001-of-00003.safetensors} speak of. */
    private static Set<String> ofNames(List<String> weights) {
        Set<String> files = new TreeSet<>();
        for (String name : weights) {
            Matcher shard = SHARD.matcher(name);
            int count = shard.matches() ? Integer.parseInt(shard.group(3)) : 0;
            for (int i = 1; i <= count && files.size() < MOST_NAMES; i++) {
                files.add("%s%05d%s".formatted(shard.group(1), i, shard.group(2)));
            }
        }
        return files;
    }
}
