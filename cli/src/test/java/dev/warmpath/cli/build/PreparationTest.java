package dev.warmpath.cli.build;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.warmpath.cli.fleet.Installation;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PreparationTest {

    /** Nobody can make a folder below /proc, whoever runs this test; its jars are as good as none here. */
    @Test
    void in_a_checkout_that_cannot_be_written_a_start_is_from_the_packed_jar(@TempDir Path folder) throws IOException {
        assumeTrue(Files.isDirectory(Path.of("/proc/self")), "left out: there is no /proc here");
        for (Service service : Service.FLEET) {
            Files.createSymbolicLink(Files.createDirectories(folder.resolve(service.module())).resolve("target"),
                    Path.of("/proc"));
        }
        var installation = new Installation(folder, Files.createDirectory(folder.resolve("state")), Map.of());
        var said = new ByteArrayOutputStream();
        try (var progress = new Progress(new PrintStream(said, true, UTF_8), false, 80)) {
            new Preparation(installation, Programs.here(new Ending(), installation), progress, Duration.ofMinutes(1))
                    .ifNeeded();
        }
        assertThat(said.toString(UTF_8)).startsWith("a start takes longer than it could: it cannot be prepared, since ")
                .contains("router-service/target/app").endsWith(" cannot be written\n");
        assertThat(Service.ROUTER.command(installation, List.of(), List.of()))
                .contains(folder.resolve("router-service/target/router-service-app.jar").toString());
    }
}
