package dev.warmpath.worker;

import dev.warmpath.worker.model.source.ModelFile;
import dev.warmpath.worker.model.source.ModelSource;
import dev.warmpath.worker.routerlink.ModelFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.springframework.core.io.ByteArrayResource;
import org.springframework.core.io.FileSystemResource;
import org.springframework.core.io.Resource;

/** The files of a model that routers may fetch, wherever they lie. */
final class ModelFileResources {

    private ModelFileResources() {}

    /** By name, those that the model has. */
    static Map<String, Resource> of(ModelSource source) throws IOException {
        Map<String, Resource> files = new HashMap<>();
        for (String name : ModelFiles.LISTED) {
            switch (source.file(name)) {
                case null -> { }
                case ModelFile.Stored(Path path) -> files.put(name, new FileSystemResource(path));
                case ModelFile.Made(byte[] bytes) -> files.put(name, new ByteArrayResource(bytes, name));
            }
        }
        return files;
    }
}
