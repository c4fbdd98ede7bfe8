package dev.warmpath.router.keys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.warmpath.router.metrics.RouterMetrics;
import io.github.bucket4j.TimeMeter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A file of keys that changes, is half written, or goes. Looks are the test's own. */
class KeyFileWatchTest {

    @TempDir
    Path directory;

    private final ApiKeys keys =
            new ApiKeys(true, new RouterMetrics(new SimpleMeterRegistry()), TimeMeter.SYSTEM_NANOTIME);

    private static String lines(int count) {
        var lines = new StringBuilder();
        for (int i = 0; i < count; i++) {
            lines.append("k").append(i).append("  ").append(KeyHash.of("key" + i)).append("  operator\n");
        }
        return lines.toString();
    }

    private Path file(String text) throws IOException {
        return Files.writeString(directory.resolve("keys"), text);
    }

    /** As after {@code start}, without the thread that looks by itself. */
    private KeyFileWatch watch(Path file) {
        var watch = new KeyFileWatch(file, keys);
        watch.start();
        watch.close();
        return watch;
    }

    private String degraded(KeyFileWatch watch) {
        return String.valueOf(new KeyHealth(keys, watch).health().getDetails().get("degraded"));
    }

    @Test
    void a_change_counts_when_two_looks_have_seen_it() throws IOException {
        KeyFileWatch watch = watch(file(lines(2)));
        assertThat(keys.count()).isEqualTo(2);

        file(lines(3));
        watch.look();
        assertThat(keys.count()).isEqualTo(2);
        watch.look();
        assertThat(keys.count()).isEqualTo(3);
        assertThat(degraded(watch)).isEqualTo("null");
    }

    /** At a line's end the beginning of a file of three keys is one of two. */
    @Test
    void a_file_that_is_being_written_is_never_taken_for_a_shorter_one() throws IOException {
        KeyFileWatch watch = watch(file(lines(3)));
        String next = lines(4);

        for (int written = 0; written < next.length(); written++) {
            file(next.substring(0, written));
            watch.look();
            assertThat(keys.count()).isEqualTo(3);
        }
        file(next);
        watch.look();
        watch.look();
        assertThat(keys.count()).isEqualTo(4);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\u0000\u0001\u0002", "{\"keys\": []}", "k0", "k0  sha256:12"})
    void garbage_changes_nothing_and_is_told_until_it_has_gone(String garbage) throws IOException {
        KeyFileWatch watch = watch(file(lines(2)));

        file(garbage);
        watch.look();
        watch.look();
        watch.look();
        assertThat(keys.count()).isEqualTo(2);
        assertThat(degraded(watch)).startsWith("the file of keys cannot be used: line 1: ");

        file(lines(2));
        watch.look();
        watch.look();
        assertThat(degraded(watch)).isEqualTo("null");
    }

    @Test
    void a_file_that_goes_takes_no_keys_along_and_an_empty_one_takes_all() throws IOException {
        Path file = file(lines(2));
        KeyFileWatch watch = watch(file);

        Files.delete(file);
        watch.look();
        watch.look();
        assertThat(keys.count()).isEqualTo(2);
        assertThat(degraded(watch)).isEqualTo("the file of keys cannot be used: there is none any more");

        file("# nobody\n");
        watch.look();
        watch.look();
        assertThat(keys.count()).isZero();
        assertThat(degraded(watch)).isEqualTo("the file of keys has none: nobody may use the API");
    }

    @Test
    void a_file_may_come_after_the_start_and_until_then_nobody_gets_in() throws IOException {
        KeyFileWatch watch = watch(directory.resolve("keys"));
        assertThat(keys.count()).isZero();
        assertThat(degraded(watch)).isEqualTo("the file of keys cannot be used: there is none");

        file(lines(1));
        watch.look();
        watch.look();
        assertThat(keys.count()).isEqualTo(1);
        assertThat(degraded(watch)).isEqualTo("null");
    }

    @Test
    void a_file_that_is_none_stops_the_start() throws IOException {
        Path file = file(lines(1) + "team-b wp-SECRET\n");

        assertThatIllegalArgumentException().isThrownBy(() -> watch(file))
                .withMessageContaining("warmpath.api-keys.file, " + file + ": line 2: ")
                .withMessageNotContaining("SECRET");
    }

    /** As Kubernetes changes a Secret: by a link to a folder. */
    @Test
    void a_link_that_leads_elsewhere_is_a_change() throws IOException {
        for (int i = 1; i <= 2; i++) {
            Path version = Files.createDirectory(directory.resolve("..v" + i));
            Files.writeString(version.resolve("keys"), lines(i));
        }
        Path data = Files.createSymbolicLink(directory.resolve("..data"), Path.of("..v1"));
        Files.createSymbolicLink(directory.resolve("keys"), Path.of("..data/keys"));
        KeyFileWatch watch = watch(directory.resolve("keys"));
        assertThat(keys.count()).isEqualTo(1);

        Files.delete(data);
        Files.createSymbolicLink(data, Path.of("..v2"));
        watch.look();
        watch.look();
        assertThat(keys.count()).isEqualTo(2);
    }
}
