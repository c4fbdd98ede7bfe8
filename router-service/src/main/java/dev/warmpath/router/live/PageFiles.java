package dev.warmpath.router.live;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.http.MediaType;

/**
 * The page's files, as they lie in the jar below {@code static-page/}: read once, so that no path a client sends is
 * ever looked up on a disk.
 */
final class PageFiles {

    static final String INDEX = "index.html";
    private static final String FOLDER = "static-page/";
    private static final Map<String, MediaType> TYPES = Map.of(
            "html", new MediaType(MediaType.TEXT_HTML, StandardCharsets.UTF_8),
            "js", MediaType.parseMediaType("text/javascript;charset=UTF-8"),
            "css", MediaType.parseMediaType("text/css;charset=UTF-8"),
            "svg", MediaType.parseMediaType("image/svg+xml"),
            "json", MediaType.APPLICATION_JSON);

    private final Map<String, File> files = new HashMap<>();

    /** @param tag changes with the content, as an {@code ETag} has it */
    record File(MediaType type, byte[] content, String tag) {}

    /** @throws UncheckedIOException if the jar cannot be read */
    PageFiles() {
        try {
            var found = new PathMatchingResourcePatternResolver().getResources("classpath*:" + FOLDER + "**/*.*");
            for (Resource each : found) {
                String url = each.getURL().toString();
                String path = url.substring(url.lastIndexOf(FOLDER) + FOLDER.length());
                MediaType type = TYPES.get(path.substring(path.lastIndexOf('.') + 1));
                if (type != null) {
                    byte[] content = each.getContentAsByteArray();
                    files.put(path, new File(type, content, tag(content)));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @param path below the folder, such as {@code index.html} */
    @Nullable File find(String path) {
        return files.get(path);
    }

    private static String tag(byte[] content) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(content);
            return '"' + HexFormat.of().formatHex(digest, 0, 16) + '"';
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
