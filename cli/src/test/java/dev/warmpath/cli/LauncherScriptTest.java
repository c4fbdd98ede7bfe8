package dev.warmpath.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher script in a checkout whose JDK and Maven are shell scripts that say what they are called with. */
class LauncherScriptTest {

    @TempDir
    Path folder;
    private Path home;
    private Path state;
    private Path jdk;
    private Path path;

    private record Said(int status, String out, String err) {}

    @BeforeEach
    void make() throws IOException {
        assumeTrue(Files.isExecutable(Path.of("/bin/bash")), "left out: there is no bash to run the script");
        home = Files.createDirectory(folder.resolve("home"));
        state = folder.resolve("state");
        path = Files.createDirectory(folder.resolve("path"));
        jdk = jdk(folder.resolve("jdk"), "echo java \"$@\"");
        Files.copy(Path.of("../warmpath"), home.resolve("warmpath"), StandardCopyOption.COPY_ATTRIBUTES);
        Files.writeString(home.resolve("pom.xml"), "");
        for (String module : List.of("cli", "workload")) {
            Files.createDirectories(home.resolve(module + "/src/main"));
            Files.writeString(home.resolve(module + "/pom.xml"), "");
        }
        program(path.resolve("mvn"), "mkdir -p cli/target/lib; echo jar >cli/target/lib/a.jar; echo $RANDOM$RANDOM "
                + ">cli/target/cli.jar; touch cli/target/built; echo built >>mvn.log");
    }

    private static void program(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/bash\n" + text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static Path jdk(Path folder, String java) throws IOException {
        program(folder.resolve("bin/javac"), "exit 1");
        program(folder.resolve("bin/java"), "[ \"$1\" != -version ] || { echo 'openjdk version \"25\"'; exit; }\n"
                + java);
        Files.writeString(folder.resolve("release"), "JAVA_VERSION=\"25\"\n");
        return folder;
    }

    private Said warmpath(String... arguments) throws IOException, InterruptedException {
        return warmpath(Map.of(), arguments);
    }

    private Said warmpath(Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(home.resolve("warmpath").toString()));
        command.addAll(List.of(arguments));
        Path err = folder.resolve("err");
        var builder = new ProcessBuilder(command).redirectError(err.toFile());
        builder.environment().putAll(Map.of("WARMPATH_STATE", state.toString(), "JAVA_HOME", jdk.toString(),
                "WARMPATH_JDK_SEARCH", "no", "PATH", path + ":" + System.getenv("PATH")));
        builder.environment().putAll(environment);
        Process script = builder.start();
        String out = new String(script.getInputStream().readAllBytes(), UTF_8);
        return new Said(script.waitFor(), out, Files.readString(err));
    }

    private List<Path> copies() throws IOException {
        try (Stream<Path> files = Files.list(state)) {
            return files.filter(file -> file.getFileName().toString().startsWith("cli-")).toList();
        }
    }

    /** A change of what it is made of, for which nobody waits. */
    private void change(String file) throws IOException {
        Files.setLastModifiedTime(home.resolve(file), FileTime.from(Instant.now().plus(Duration.ofHours(1))));
    }

    @Test
    void a_command_is_built_once_and_run_from_a_copy_that_is_this_builds_alone()
            throws IOException, InterruptedException {
        assertThat(warmpath("status")).satisfies(said -> {
            assertThat(said.err()).isEqualTo("building the warmpath command (once) ...\n");
            assertThat(said.out()).startsWith("java ").contains("-jar " + copies().getFirst() + "/cli.jar status");
        });
        assertThat(warmpath("status").err()).isEmpty();
        assertThat(home.resolve("mvn.log")).hasContent("built");
        Path first = copies().getFirst();

        change("pom.xml");
        Files.writeString(state.resolve("fleet"), "");
        assertThat(warmpath("up").err()).startsWith("building");
        assertThat(copies()).as("the fleet's command may still load something").hasSize(2).contains(first);

        Files.delete(state.resolve("fleet"));
        warmpath("up");
        assertThat(copies()).hasSize(1).doesNotContain(first);
    }

    @Test
    void a_build_that_was_broken_off_is_none() throws IOException, InterruptedException {
        warmpath("status");
        Files.delete(home.resolve("cli/target/built"));
        assertThat(warmpath("status").err()).startsWith("building");
    }

    @Test
    void a_fleet_can_be_looked_at_and_stopped_when_the_command_can_not_be_built_anew()
            throws IOException, InterruptedException {
        warmpath("status");
        Path copy = copies().getFirst();
        change("cli/src/main");
        program(path.resolve("mvn"), "echo '[INFO] tries'; echo '[ERROR] offline'; exit 1");
        for (String command : List.of("down", "status", "logs")) {
            assertThat(warmpath(command)).satisfies(said -> {
                assertThat(said.status()).isZero();
                assertThat(said.out()).contains("-jar " + copy + "/cli.jar " + command);
                assertThat(said.err()).contains("[ERROR] offline", "the build of the command failed",
                        "warmpath: " + command + " is done by the command as it was built before")
                        .doesNotContain("tries");
            });
        }
        assertThat(warmpath("up").status()).isEqualTo(1);
        assertThat(warmpath("up").out()).isEmpty();
    }

    @Test
    void without_a_state_folder_that_can_be_written_what_is_built_runs_where_it_is()
            throws IOException, InterruptedException {
        warmpath("status");
        state = Files.writeString(folder.resolve("file"), "");
        assertThat(warmpath("status").out()).contains("-jar " + home + "/cli/target/cli.jar status");
    }

    @Test
    void a_jdk_for_another_machine_is_passed_over() throws IOException, InterruptedException {
        warmpath("status");
        jdk(state.resolve("jdk-25"), "echo fetched \"$@\"");
        Files.write(jdk.resolve("bin/java"), new byte[] {0x7F, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0});

        assertThat(warmpath("status")).satisfies(said -> {
            assertThat(said.out()).startsWith("fetched ").endsWith(" status\n");
            assertThat(said.status()).isZero();
        });
        change("pom.xml");
        program(path.resolve("mvn"), "echo $JAVA_HOME >jdk.log; exit 1");
        warmpath("status");
        assertThat(home.resolve("jdk.log")).as("Maven has that one, too").hasContent(state + "/jdk-25");
    }

    @Test
    void in_the_c_locale_names_of_files_are_utf_8_and_another_locale_is_left_alone()
            throws IOException, InterruptedException {
        jdk = jdk(folder.resolve("jdk"), "echo ${LC_ALL-none}");
        for (String plain : List.of("C", "POSIX")) {
            assertThat(warmpath(Map.of("LC_ALL", plain), "status").out()).isEqualTo("C.UTF-8\n");
        }
        assertThat(warmpath(Map.of("LC_ALL", "C.utf8"), "status").out()).isEqualTo("C.utf8\n");
    }
}
