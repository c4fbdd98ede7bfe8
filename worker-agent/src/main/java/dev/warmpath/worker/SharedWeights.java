package dev.warmpath.worker;

import dev.warmpath.worker.compute.ComputeBackend;
import dev.warmpath.worker.compute.MemoryPlace;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;

/**
 * Weights that workers of one host keep in common, in a file of a folder. Its name is a digest of all that they follow
 * from: the model's files, which tensors come where in which format, and the classes that make weights of them.
 *
 * <p>Reading all of a model's files would take as long as loading it. Of each, the path, the size, the number on its
 * disk, two times of change (one that no program sets) and {@value #SAMPLES} places all over it stand for the rest.
 */
final class SharedWeights {

    private static final int SAMPLES = 256;
    private static final int SAMPLE_BYTES = 512;
    /** What makes, out of a model's files, what lies in memory. */
    private static final String CLASSES = "classpath*:dev/warmpath/worker/%s/**/*.class";
    private static final String ATTRIBUTES = "unix:ino,ctime,lastModifiedTime";

    private static final Logger log = LoggerFactory.getLogger(SharedWeights.class);

    private final Preflight.Ready start;
    private final String name;

    private SharedWeights(Preflight.Ready start, String name) {
        this.start = start;
        this.name = name;
    }

    /**
     * Has the backend of a worker that is about to load its model take weights from there, or fill a file for others.
     * @return null if it cannot: the worker has weights of its own then
     */
    static @Nullable SharedWeights use(Path folder, Preflight.Ready start) {
        try {
            String name = name(start);
            if (start.backend().shareWeights(folder, name)) {
                return new SharedWeights(start, name);
            }
            log.warn("backend {} cannot share weights by warmpath.model.shared-weights here, this worker has its own",
                    start.backend().name());
        } catch (IOException | UnsupportedOperationException e) {
            log.warn("weights cannot be shared by warmpath.model.shared-weights, this worker has its own: {}",
                    e.toString());
        }
        return null;
    }

    /** The model is loaded. Its files must be those that the name was made of. */
    void publish() throws IOException {
        if (name(start).equals(name)) {
            start.backend().publishWeights();
        } else {
            log.warn("the model's files have changed while they were read: this worker's weights are not shared");
            start.backend().keepWeights();
        }
    }

    /**
     * Why none can be kept there, as far as can be told before.
     * @return a clause; null if nothing speaks against it
     */
    static @Nullable String lack(Path folder, Preflight.Ready start) throws IOException {
        ComputeBackend backend = start.backend();
        if (!backend.sharesWeights()) {
            return "backend " + backend.name() + " cannot share weights here";
        }
        long bytes = start.footprint().bytes(MemoryPlace.NATIVE, start.config().contextLength());
        Path there = Files.createDirectories(folder);
        if (!Files.isWritable(there)) {
            return there + " cannot be written";
        }
        long usable = Files.getFileStore(there).getUsableSpace();
        return usable >= bytes ? null : String.format(Locale.ROOT, "the weights take %s, and %s has room for %s",
                Megabytes.text(bytes), there, Megabytes.text(usable));
    }

    static String name(Preflight.Ready start) throws IOException {
        MessageDigest digest = sha256();
        var classes = new PathMatchingResourcePatternResolver();
        for (String part : new String[] {"compute", "model"}) {
            Resource[] all = classes.getResources(CLASSES.formatted(part));
            Arrays.sort(all, Comparator.comparing(SharedWeights::path));
            for (Resource one : all) {
                digest.update(one.getContentAsByteArray());
            }
        }
        digest.update(start.footprint().recipe().getBytes(StandardCharsets.UTF_8));
        for (Path file : start.source().weightFiles()) {
            digest.update((file + " " + Files.size(file) + " " + Files.readAttributes(file, ATTRIBUTES))
                    .getBytes(StandardCharsets.UTF_8));
            sample(file, digest);
        }
        return HexFormat.of().formatHex(digest.digest());
    }

    private static String path(Resource one) {
        try {
            return one.getURL().toString();
        } catch (IOException e) {
            throw new IllegalStateException("a class that was found has no address: " + one, e);
        }
    }

    private static void sample(Path file, MessageDigest digest) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            long last = Math.max(0, channel.size() - SAMPLE_BYTES);
            for (int i = 0; i < SAMPLES; i++) {
                ByteBuffer sample = ByteBuffer.allocate(SAMPLE_BYTES);
                channel.read(sample, last / (SAMPLES - 1) * i);
                digest.update(sample.flip());
            }
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
