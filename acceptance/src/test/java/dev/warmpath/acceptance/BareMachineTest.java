package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * {@code ./warmpath} where neither a JDK nor Maven is: a PATH of what every system has and curl, and a mirror of
 * Adoptium's API on this machine. Its JDK is a folder of scripts that call the one that runs this test.
 */
class BareMachineTest {

    private static final Duration TIMEOUT = Duration.ofMinutes(10);
    private static final List<String> TOOLS = List.of("bash", "sh", "cat", "chmod", "cp", "curl", "cut", "date",
            "dirname", "basename", "env", "find", "getconf", "grep", "gzip", "head", "ls", "ln", "mkdir", "mktemp",
            "mv", "nohup", "od", "ps", "rm", "sed", "sha256sum", "shasum", "sleep", "sort", "tail", "tar", "touch",
            "tr", "uname", "wc");
    private static final String NAME = "OpenJDK25U-jdk_x64_linux_hotspot_25_36.tar.gz";

    @TempDir
    Path folder;
    private Path state;
    private HttpServer mirror;
    private byte[] archive;
    private String sum;
    private int archiveBytesSent;
    private final ConcurrentLinkedQueue<URI> asked = new ConcurrentLinkedQueue<>();

    /** What the launcher said, and its exit status. */
    private record Said(int status, String text) {}

    @BeforeEach
    void start() throws IOException, InterruptedException, NoSuchAlgorithmException {
        state = folder.resolve("state");
        Files.createDirectory(folder.resolve("home"));
        Path bin = Files.createDirectory(folder.resolve("bin"));
        for (String tool : TOOLS) {
            Path installed = installed(tool);
            if (installed != null) {
                call(installed, bin.resolve(tool));
            }
        }
        archive = archive();
        archiveBytesSent = archive.length;
        sum = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(archive));
        mirror = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 16);
        mirror.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        mirror.createContext("/v3/assets/latest/25/hotspot", exchange -> {
            asked.add(exchange.getRequestURI());
            answer(exchange, assets().getBytes(StandardCharsets.UTF_8), Integer.MAX_VALUE);
        });
        mirror.createContext("/" + NAME, exchange -> {
            asked.add(exchange.getRequestURI());
            answer(exchange, archive, archiveBytesSent);
        });
        mirror.start();
    }

    @AfterEach
    void stop() {
        mirror.stop(0);
    }

    @Test
    void a_jdk_is_fetched_once_after_saying_so_and_checked() throws IOException, InterruptedException {
        try (var taken = new ServerSocket(LocalFleet.freePortRange(1, 1), 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(taken.getLocalPort());
            Said up = warmpath(Map.of(), "up", "--port", port);
            assertThat(up.text().lines()).hasSize(3).satisfiesExactly(
                    first -> assertThat(first).startsWith("no JDK 25 found: fetching Eclipse Temurin")
                            .contains(address() + " names it, into " + state.resolve("jdk-25")),
                    second -> assertThat(second)
                            .isEqualTo("fetched " + address() + "/" + NAME + ", SHA-256 " + sum + " as it should be"),
                    third -> assertThat(third).contains("port " + port + " is in use"));
            assertThat(asked).hasSize(2).first().satisfies(query -> assertThat(query.getQuery().split("&"))
                    .contains("image_type=jdk", "vendor=eclipse", "os=" + system(), "architecture=" + architecture()));
            assertThat(state.resolve("jdk-25/bin/java")).isExecutable();

            assertThat(warmpath(Map.of(), "up", "--port", port).text()).startsWith("warmpath: port");
            assertThat(asked).hasSize(2);
        }
    }

    @Test
    void an_archive_with_another_sum_is_thrown_away() throws IOException, InterruptedException {
        String right = sum;
        sum = "0".repeat(64);
        Said up = warmpath(Map.of(), "up");
        assertThat(up.status()).isEqualTo(1);
        assertThat(up.text()).contains("is thrown away: its SHA-256 is " + right + ", not " + sum);
        assertNothingIsLeft();
    }

    @Test
    void a_download_that_breaks_off_is_never_taken_for_a_whole_one() throws IOException, InterruptedException {
        archiveBytesSent = archive.length / 2;
        Said up = warmpath(Map.of(), "up");
        assertThat(up.status()).isEqualTo(1);
        assertThat(up.text()).contains(address() + "/" + NAME + " could not be fetched");
        assertNothingIsLeft();
    }

    @Test
    void offline_one_sentence_says_what_to_install() throws IOException, InterruptedException {
        mirror.stop(0);
        for (String command : List.of("up", "verify")) {
            Said said = warmpath(Map.of(), command);
            assertThat(said.status()).isEqualTo(1);
            assertThat(said.text().lines().filter(line -> line.startsWith("warmpath:"))).containsExactly(
                    "warmpath: no JDK 25 found, and " + address() + " does not answer; install a JDK 25 "
                            + "(https://adoptium.net, apt install openjdk-25-jdk, brew install openjdk@25) or point "
                            + "JAVA_HOME at one");
        }
        assertNothingIsLeft();
    }

    @Test
    @Tag("full")
    void a_fleet_starts_on_the_fetched_jdk_with_bash_and_curl_alone() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 1);
        try {
            Said up = warmpath(Map.of(), "up", "--detach", "--workers", "1", "--port", Integer.toString(port));
            assertThat(up.status()).as(up.text()).isZero();
            assertThat(up.text()).contains("SHA-256 " + sum, "ready after");
        } finally {
            assertThat(warmpath(Map.of(), "down").status()).isZero();
        }
    }

    @Test
    void maven_is_fetched_by_its_wrapper_where_none_is_and_a_wrong_one_is_not_run()
            throws IOException, InterruptedException {
        mirror.createContext("/maven/org/apache/maven/apache-maven/", exchange -> {
            asked.add(exchange.getRequestURI());
            answer(exchange, archive, Integer.MAX_VALUE);
        });
        Said verify = warmpath(Map.of("JAVA_HOME", System.getProperty("java.home"), "MVNW_REPOURL",
                address() + "/maven"), "verify", "-v");
        assertThat(verify.status()).isEqualTo(1);
        assertThat(verify.text()).contains("Failed to validate Maven distribution SHA-256");
        assertThat(asked).singleElement().satisfies(
                path -> assertThat(path.getPath()).startsWith("/maven/org/apache/maven/apache-maven/3.9")
                        .endsWith("-bin.tar.gz"));
    }

    private void assertNothingIsLeft() throws IOException {
        try (Stream<Path> left = Files.list(state)) {
            assertThat(left).isEmpty();
        }
    }

    /** As Adoptium's API answers, shortened; the installer's link and sum are not the package's. */
    private String assets() {
        return """
                [
                  {
                    "binary": {
                      "architecture": "x64",
                      "image_type": "jdk",
                      "installer": {
                        "checksum": "%1$s",
                        "link": "%2$s/installer.pkg"
                      },
                      "package": {
                        "checksum": "%3$s",
                        "checksum_link": "%2$s/%4$s.sha256.txt",
                        "link": "%2$s/%4$s",
                        "name": "%4$s",
                        "signature_link": "%2$s/%4$s.sig",
                        "size": 141234567
                      },
                      "project": "jdk"
                    },
                    "release_name": "jdk-25+36",
                    "vendor": "eclipse"
                  }
                ]
                """.formatted("1".repeat(64), address(), sum, NAME);
    }

    /** A tar.gz of one folder, as Adoptium's are. */
    private byte[] archive() throws IOException, InterruptedException {
        Path jdk = folder.resolve("jdk-25+36");
        Path bin = Files.createDirectories(jdk.resolve("bin"));
        for (String tool : List.of("java", "javac")) {
            call(Path.of(System.getProperty("java.home"), "bin", tool), bin.resolve(tool));
        }
        Path file = folder.resolve(NAME);
        assertThat(new ProcessBuilder("tar", "-czf", file.toString(), "-C", folder.toString(), "jdk-25+36").start()
                .waitFor()).isZero();
        return Files.readAllBytes(file);
    }

    private static void call(Path program, Path script) throws IOException {
        Files.writeString(script, "#!/bin/sh\nexec " + program + " \"$@\"\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
    }

    private static void answer(HttpExchange exchange, byte[] body, int bytesSent) throws IOException {
        try (exchange) {
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body, 0, Math.min(body.length, bytesSent));
        }
    }

    private String address() {
        return "http://127.0.0.1:" + mirror.getAddress().getPort();
    }

    private static String system() {
        return System.getProperty("os.name").startsWith("Mac") ? "mac" : "linux";
    }

    private static String architecture() {
        return switch (System.getProperty("os.arch").toLowerCase(Locale.ROOT)) {
            case "amd64", "x86_64" -> "x64";
            default -> "aarch64";
        };
    }

    private static Path installed(String tool) {
        return Stream.of(System.getenv("PATH").split(":")).map(place -> Path.of(place, tool))
                .filter(Files::isExecutable).findFirst().orElse(null);
    }

    private Said warmpath(Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        Path output = folder.resolve("said");
        List<String> command = new ArrayList<>(List.of(LocalFleet.ROOT.resolve("warmpath").toString()));
        command.addAll(List.of(arguments));
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", folder.resolve("bin").toString(),
                "HOME", folder.resolve("home").toString(), "WARMPATH_STATE", state.toString(),
                "WARMPATH_JDK_SEARCH", "no", "WARMPATH_JDK_API", address()));
        builder.environment().putAll(environment);
        Process process = builder.start();
        assertThat(process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).as("the launcher returns").isTrue();
        return new Said(process.exitValue(), Files.readString(output));
    }
}
