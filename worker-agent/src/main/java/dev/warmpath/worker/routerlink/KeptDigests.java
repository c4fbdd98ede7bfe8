package dev.warmpath.worker.routerlink;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SHA-256 of files, kept from start to start: 140 GB of weights take minutes to read, and are the same ones as last
 * time. A digest counts for as long as the file has the same path, size and time of change. Whoever can write the kept
 * file decides what models are taken for.
 *
 * <p>One line a file: digest, size in bytes, time of change (ISO 8601), path. Workers that start at a time may lose each
 * other's lines, which costs one reading more.
 */
final class KeptDigests {

    static final int MAX_KEPT = 1_000;

    /** A file changed so lately may change again within one tick of its file system's clock, and nobody would see. */
    private static final long TOO_FRESH_SECONDS = 2;
    private static final int BUFFER_BYTES = 1 << 20;
    private static final Pattern SHA256 = Pattern.compile("[0-9a-f]{64}");

    private static final Logger log = LoggerFactory.getLogger(KeptDigests.class);

    private final @Nullable Path file;

    /** @param file where they are kept; null: nowhere */
    KeptDigests(@Nullable Path file) {
        this.file = file;
    }

    /** @throws IOException if the file cannot be read; never for what is kept, which is only left out then */
    String of(Path path) throws IOException {
        if (file == null) {
            return digest(path);
        }
        Path real = path.toRealPath();
        Version version = Version.of(real);
        Kept kept = read().get(real.toString());
        if (kept != null && kept.version.equals(version)) {
            return kept.sha256;
        }
        Instant start = Instant.now();
        String sha256 = digest(real);
        if (version.equals(Version.of(real)) && version.isBefore(start.minusSeconds(TOO_FRESH_SECONDS))) {
            keep(real.toString(), new Kept(sha256, version));
        }
        return sha256;
    }

    static String digest(Path path) throws IOException {
        return digest(Files.newInputStream(path));
    }

    /** Closes what it reads. */
    static String digest(InputStream content) throws IOException {
        MessageDigest sha256 = sha256();
        byte[] buffer = new byte[BUFFER_BYTES];
        try (InputStream in = content) {
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                sha256.update(buffer, 0, length);
            }
        }
        return HexFormat.of().formatHex(sha256.digest());
    }

    static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /** Oldest first. */
    private Map<String, Kept> read() {
        var kept = new LinkedHashMap<String, Kept>();
        try {
            for (String line : Files.readAllLines(file)) {
                String[] fields = line.split("\t", 4);
                if (fields.length == 4 && SHA256.matcher(fields[0]).matches()) {
                    kept.put(fields[3], new Kept(fields[0], Version.parse(fields[1], fields[2])));
                }
            }
        } catch (NoSuchFileException nothingKeptYet) {
            return kept;
        } catch (IOException | NumberFormatException | DateTimeParseException e) {
            log.warn("{} is no file of kept digests, models are read anew: {}", file, e.toString());
            kept.clear();
        }
        return kept;
    }

    private void keep(String path, Kept one) {
        Map<String, Kept> kept = read();
        kept.remove(path);
        kept.put(path, one);
        List<String> lines = new ArrayList<>();
        kept.forEach((where, what) -> lines.add(what.line(where)));
        try {
            Path folder = Files.createDirectories(file.toAbsolutePath().getParent());
            Path written = Files.createTempFile(folder, "digests", ".part");
            try {
                Files.write(written, lines.subList(Math.max(0, lines.size() - MAX_KEPT), lines.size()));
                replace(written);
            } finally {
                Files.deleteIfExists(written);
            }
        } catch (IOException e) {
            log.info("the digest of {} cannot be kept, the next start reads it again: {}", path, e.toString());
        }
    }

    private void replace(Path written) throws IOException {
        try {
            Files.move(written, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (AtomicMoveNotSupportedException e) {
            Files.move(written, file, StandardCopyOption.REPLACE_EXISTING);
        }
    }

    private record Kept(String sha256, Version version) {

        String line(String path) {
            return String.join("\t", sha256, Long.toString(version.size), version.modified.toString(), path);
        }
    }

    private record Version(long size, Instant modified) {

        static Version of(Path path) throws IOException {
            return new Version(Files.size(path), Files.getLastModifiedTime(path).toInstant());
        }

        static Version parse(String size, String modified) {
            return new Version(Long.parseLong(size), Instant.parse(modified));
        }

        boolean isBefore(Instant time) {
            return modified.isBefore(time);
        }
    }
}
