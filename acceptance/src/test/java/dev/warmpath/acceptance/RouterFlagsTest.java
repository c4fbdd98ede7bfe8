package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What is tested and measured has the flags of what runs: they stand in a file and three programs. */
class RouterFlagsTest {

    private static final Path LAUNCHER = Path.of("cli/src/main/java/dev/warmpath/cli/build/Service.java");
    private static final Path BENCHMARK =
            Path.of("benchmarks/src/main/java/dev/warmpath/benchmarks/gateway/Options.java");

    @Test
    void the_launcher_and_the_benchmark_start_a_router_with_the_flags_of_a_tested_one() throws IOException {
        List<String> tested = Stream.of(LocalFleet.ROUTER_FLAGS, LocalFleet.MEMORY_FLAGS).flatMap(List::stream).toList();

        assertThat(words(LAUNCHER)).containsAll(tested);
        assertThat(words(BENCHMARK)).containsAll(tested);
    }

    @Test
    void a_router_of_an_image_gets_its_memory_in_the_same_way() throws IOException {
        assertThat(words(Path.of("images/router.options"))).containsAll(LocalFleet.MEMORY_FLAGS);
    }

    private static List<String> words(Path file) throws IOException {
        return Arrays.asList(Files.readString(LocalFleet.ROOT.resolve(file)).split("[\\s\"()]+"));
    }
}
