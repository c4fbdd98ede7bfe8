package dev.warmpath.worker;

import dev.warmpath.worker.compute.MemoryPlace;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Weights that workers of one host keep in common. They are found by a name of all that their values follow from: the
 * model's files as they are now, and what is made of them. The system's start is a part of it, too: what was not yet on
 * the disk when it lost its power is taken for weights by nobody.
 */
final class SharedWeights {

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    /** What no program can set, unlike the time of change: a copy may have kept its source's. */
    private static final String CHANGED = "unix:ctime";
    private static final String NUMBER = "unix:ino";

    private static final Logger log = LoggerFactory.getLogger(SharedWeights.class);

    private SharedWeights() {}

    /** Has the backend take them from there, if it can. A worker that cannot share has weights of its own. */
    static void use(Path folder, Preflight.Ready start) {
        if (!start.backend().sharesWeights()) {
            log.warn("warmpath.model.shared-weights is set, but backend {} keeps weights by itself here",
                    start.backend().name());
            return;
        }
        try {
            start.backend().shareWeights(folder, name(start),
                    start.footprint().bytes(MemoryPlace.NATIVE, start.config().contextLength()));
        } catch (IOException | UnsupportedOperationException e) {
            log.warn("weights cannot be shared by warmpath.model.shared-weights, this worker has its own: {}",
                    e.toString());
        }
    }

    private static String name(Preflight.Ready start) throws IOException {
        StringBuilder facts = new StringBuilder(start.footprint().recipe());
        for (Path file : start.source().weightFiles()) {
            facts.append(file).append(' ').append(Files.size(file)).append(' ').append(Files.getAttribute(file, NUMBER))
                    .append(' ').append(Files.getAttribute(file, CHANGED)).append('\n');
        }
        facts.append(Files.readString(BOOT_ID));
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256")
                    .digest(facts.toString().getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
