package dev.warmpath.acceptance;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ./warmpath} as a person runs it, with pids and logs in a folder of the test's own. */
class LauncherTest {

    /** For a launcher that hangs: it watches for progress itself, and gives up where there is none. */
    private static final Duration TIMEOUT = Duration.ofMinutes(10);

    private static final Path TINY = LocalFleet.ROOT.resolve("models/warmpath-tiny");

    @TempDir
    Path state;

    /** What the launcher said, and its exit status. */
    private record Said(int status, String text) {}

    @Test
    void up_returns_when_a_completion_succeeds_status_shows_a_line_per_process_and_down_ends_them_all()
            throws IOException, InterruptedException {
        Files.copy(RedisProcess.bundled(), Files.createDirectory(state.resolve("bin")).resolve("redis-server"),
                StandardCopyOption.COPY_ATTRIBUTES);
        int port = LocalFleet.freePortRange(2, 2);
        List<Long> started;
        try {
            Said up = warmpath("up", "--redis", "embedded", "--routers", "2", "--workers", "2", "--detach",
                    "--port", Integer.toString(port));
            assertThat(up.status()).as(up.text()).isZero();
            started = pids();
            assertThat(started).hasSize(5).allSatisfy(pid -> assertThat(commandLine(pid))
                    .as("ps shows no URI: it may hold a password").doesNotContain("redis://"));
            assertThat(started.stream().map(LauncherTest::commandLine).filter(line -> line.contains("worker.id=")))
                    .as("a GPU changes nothing for who has not asked for it").hasSize(2).allSatisfy(line ->
                            assertThat(line).contains("-Xmx1024m", "--warmpath.compute.backend=vector",
                                    "--warmpath.kv.memory=128MB"));
            assertThat(started.stream().map(LauncherTest::mappedWeights).filter(file -> !file.isEmpty()))
                    .as("both workers map one file").hasSize(2).containsOnly(mappedWeights(started.getLast()));
            assertThat(commandLine(started.get(1))).as("C2 compiles, and 512 streams fit")
                    .contains("-Xmx512m").doesNotContain("TieredStopAtLevel");

            Said status = warmpath("status");
            assertThat(status.text())
                    .contains("router", "router-2", "redis", "worker-1", "worker-2", "http://127.0.0.1:" + (port + 1));
            assertThat(status.text().lines().filter(line -> line.endsWith(" ready"))).hasSize(5);

            Said twice = warmpath("up", "--port", Integer.toString(port));
            assertThat(twice.status()).isEqualTo(1);
            assertThat(twice.text()).contains("a fleet is running already");

            // two routers share an index
            int[] prompt = IntStream.range(0, 100).toArray();
            assertThat(gateway(port).complete(prompt, 2).cachedTokens()).isZero();
            assertThat(gateway(port + 100).complete(prompt, 2).cachedTokens()).isEqualTo(96);

            assertThat(read("redis")).isEqualTo("WARMPATH_REDIS_URI=redis://127.0.0.1:" + (port + 900) + "\n");
            Said index = warmpath("index");
            assertThat(index.status()).as(index.text()).isZero();
            assertThat(index.text()).contains("worker-1");
            assertThat(warmpath("index", "--json", "--redis", "redis://127.0.0.1:" + (port + 900)).text())
                    .startsWith("{").contains("\"worker-1\"");
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
        Await.until("no process is left",
                () -> started.stream().noneMatch(pid -> ProcessHandle.of(pid).isPresent()));
        assertThat(warmpath("status").text()).contains("no fleet is running");
        assertThat(state.resolve("shared-weights")).doesNotExist();
    }

    @Test
    void a_fleet_beside_an_engine_says_what_is_only_assumed_of_it_and_doctor_says_why()
            throws IOException, InterruptedException {
        try (var engine = LocalFleet.start(1, 1, LocalFleet.patient(), List.of())) {
            String address = "openai=http://" + engine.gateway().uri("/").getAuthority();

            Said doctor = warmpath("doctor", "--engine", address, "--model", TINY.toString());
            assertThat(doctor.status()).as(doctor.text()).isZero();
            assertThat(doctor.text()).contains(address + "\n",
                    "  ok       answers: a server with OpenAI's API, model warmpath-tiny",
                    "  ok       takes token ids and tells them",
                    "  warning  it tells nothing of its cache: it is taken to hold what it was sent",
                    "  ok       tells cached tokens: 256 of a prompt of 257 sent twice",
                    "  ok       has the tokenizer of " + TINY + ", as 38 tokens show");

            int port = LocalFleet.freePortRange(1, 1);
            Said up = warmpath("up", "--engine", address, "--model", TINY.toString(), "--detach", "--port",
                    Integer.toString(port));
            assertThat(up.status()).as("it has tried a completion: " + up.text()).isZero();
            assertThat(up.text()).contains("beside a running engine: " + address,
                    "warning: the engine of worker-1 tells nothing of its cache",
                    "./warmpath doctor --engine " + address);
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
    }

    @Test
    void mistakes_are_answered_with_a_sentence() throws IOException, InterruptedException {
        assertThat(warmpath("up", "--workers", "none").text()).contains("--workers takes a number from 1 to 64");
        assertThat(warmpath("up", "--port", "70000").text()).contains("--port takes a number");
        assertThat(warmpath("up", "--model", "nowhere").text()).contains("there is no folder or file 'nowhere'");
        assertThat(warmpath("up", "--model", "Qwen/Qwen2.5-0.5B-Instruct").text())
                .contains("hf download Qwen/Qwen2.5-0.5B-Instruct --local-dir Qwen2.5-0.5B-Instruct'");
        assertThat(warmpath("up", "--model").text()).contains("--model needs a value");
        assertThat(warmpath("up", "--context", "all").text()).contains("--context takes a number from 2");
        assertThat(warmpath("up", "--quantization", "int4").text())
                .contains("--quantization takes none or int8, not 'int4'");
        assertThat(warmpath("up", "--heap=2g").text()).contains("--heap takes a size such as 512MB or 4GB, not '2g'");
        assertThat(warmpath("up", "--routers", "10").text()).contains("--routers takes a number from 1 to 9");
        assertThat(warmpath("up", "--redis", "here").text()).contains("--redis takes 'embedded' or a URI");
        assertThat(warmpath("up", "--engine", "http://127.0.0.1:8000").text())
                .contains("--engine takes KIND=URL, such as vllm=http://127.0.0.1:8000");
        assertThat(warmpath("up", "--engine", "vllm=http://127.0.0.1:8000").text()).contains("--engine needs --model");
        assertThat(warmpath("up", "--engine", "vllm=http://127.0.0.1:8000", "--model", "models/warmpath-tiny", "--heap",
                "1GB").text()).contains("--heap and --quantization are of workers that compute");
        assertThat(warmpath("doctor", "--engine", "http://127.0.0.1:8000")).satisfies(said -> {
            assertThat(said.status()).isEqualTo(2);
            assertThat(said.text()).contains("--engine takes KIND=URL, such as vllm=http://127.0.0.1:8000");
        });
        assertThat(warmpath("doctor", "--engine", "vllm=http://127.0.0.1:1")).satisfies(said -> {
            assertThat(said.status()).isEqualTo(1);
            assertThat(said.text()).contains("  missing  the engine at http://127.0.0.1:1 does not answer: ");
        });
        assertThat(warmpath("doctor", "--help").text()).contains("doctor [OPTIONS]", "--model=PATH")
                .doesNotContain("  status ");
        assertThat(warmpath("index").text()).contains("no fleet with a Redis is running");
        assertThat(warmpath("up", "--backend", "gpu").text())
                .contains("--backend takes auto, cuda, vector or scalar, not 'gpu'");
        assertThat(warmpath("up", "--kv-memory", "much").text()).contains("--kv-memory takes a size such as 512MB");
        assertThat(warmpath("profile").text()).contains("profile takes the id of a process, such as worker-1");
        assertThat(warmpath("profile", "worker-1").text()).contains("no fleet is running");
        assertThat(warmpath("profile", "worker-1", "--kind", "gpu").text())
                .contains("--kind takes cpu, wall, alloc or lock, not 'gpu'");
        assertThat(warmpath("profile", "worker-1", "--seconds", "0").text())
                .contains("--seconds takes a number from 1 to 3600");
        assertThat(warmpath("up", "--router", "2")).satisfies(said -> {
            assertThat(said.status()).isEqualTo(2);
            assertThat(said.text()).contains("up does not know '--router'", "Possible solutions: --routers");
        });
        assertThat(warmpath("images", "--push").text()).contains("--push needs a --registry to push to");
        assertThat(warmpath("images", "--tag", "a b").text()).contains("--tag takes letters, digits");
        assertThat(warmpath("images", "--base", "JDK=x").text()).contains("--base takes JDK_IMAGE=");
        assertThat(warmpath("images", "router").text()).contains("images does not know 'router'");
        assertThat(warmpath("up", "--port", "1", "--help")).satisfies(said -> {
            assertThat(said.status()).isZero();
            assertThat(said.text()).contains("up [OPTIONS]", "--kv-memory=SIZE").doesNotContain("  status ");
        });
        assertThat(warmpath("dance")).satisfies(said -> {
            assertThat(said.status()).isEqualTo(2);
            assertThat(said.text()).contains("'dance' is no command", "See ./warmpath --help");
        });
    }

    @Test
    @Tag("full")                                    // a minute: a fleet, four times two seconds, and what Maven brings
    void profile_writes_a_flame_graph_of_each_kind_and_leaves_the_process_as_it_was() throws Exception {
        int port = LocalFleet.freePortRange(1, 1);
        try (var client = Executors.newSingleThreadExecutor()) {
            Said up = warmpath("up", "--detach", "--workers", "1", "--port", Integer.toString(port));
            assertThat(up.status()).as(up.text()).isZero();
            List<Long> started = pids();
            var busy = new AtomicBoolean(true);
            Future<?> load = client.submit(() -> {
                while (busy.get()) {
                    assertThat(gateway(port).complete("Hello", 64).status()).isEqualTo(200);
                }
            });
            try {
                for (String kind : List.of("cpu", "wall", "alloc", "lock")) {
                    Said said = warmpath("profile", "worker-1", "--seconds", "2", "--kind", kind);
                    assertThat(said.status()).as(said.text()).isZero();
                    Path page = Path.of(said.text().lines().toList().getLast());
                    assertThat(page).hasExtension("html").content().contains("worker-1 " + kind);
                    if (!kind.equals("lock")) {      // nobody may have waited for one
                        assertThat(page).content().as("frames of ours").contains("warmpath/");
                    }
                }
                Said router = warmpath("profile", "router", "--seconds", "1");
                assertThat(router.status()).as(router.text()).isZero();
            } finally {
                busy.set(false);
            }
            load.get();
            assertThat(started).allSatisfy(pid -> assertThat(ProcessHandle.of(pid)).isPresent());
            assertThat(warmpath("profile", "worker-2").text()).contains("no router or worker 'worker-2' is running");
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
    }

    @Test
    void what_keeps_a_model_from_being_served_is_told_at_once_in_words_of_the_launcher(@TempDir Path model)
            throws IOException, InterruptedException {
        Files.copy(TINY.resolve("config.json"), model.resolve("config.json"));
        Files.writeString(model.resolve("tokenizer.json"), "{\"model\": {\"type\": \"Magic\", \"vocab\": {}}}");

        Said up = warmpath("up", "--model=" + model + "/", "--backend", "cuda", "--context", "4096", "--detach",
                "--port", Integer.toString(LocalFleet.freePortRange(1, 2)));

        assertThat(up.status()).isEqualTo(1);
        assertThat(up.text().lines()).as(up.text()).satisfiesExactly(
                template -> assertThat(template).startsWith("warning: ").contains("so chat is answered with an error"),
                count -> assertThat(count).isEqualTo("warmpath: 4 things keep " + model + " from being served:"),
                weights -> assertThat(weights).contains(model + " has no *.safetensors"),
                context -> assertThat(context)
                        .startsWith("- --context is 4096, but the model was made for 2048 tokens"),
                gpu -> assertThat(gpu).contains("--backend is cuda, but /nowhere/libcuda.so.1, named by "
                        + "WARMPATH_CUDA_DRIVER, does not exist. Put that right, or compute on processors by --backend "
                        + "vector"),
                tokenizer -> assertThat(tokenizer).contains("tokenizer.json does not load"));
        assertThat(state.resolve("fleet")).as("nothing was started").doesNotExist();
    }

    /** A router's program reads what a worker's has made of the file; what lies beside it is no part of it. */
    @Test
    void text_of_a_gguf_file_is_looked_at_before_the_start_whatever_lies_beside_it(@TempDir Path folder)
            throws IOException, InterruptedException {
        Files.writeString(folder.resolve("tokenizer.json"), "{\"model\": {\"type\": \"Magic\", \"vocab\": {}}}");
        Path file = GgufTokenizersTest.byteLevel("gpt-2").put("tokenizer.chat_template", "{% for message in %}")
                .write(folder.resolve("model.gguf"));

        for (Path model : List.of(folder, file)) {
            Said up = warmpath("up", "--model", model.toString(), "--context", "4096", "--detach", "--port",
                    Integer.toString(LocalFleet.freePortRange(1, 2)));

            assertThat(up.status()).isEqualTo(1);
            assertThat(up.text().lines()).as(up.text()).satisfiesExactly(
                    template -> assertThat(template).startsWith("warning: " + model + ": its chat template 'default' "
                            + "cannot be read, so chat is answered with an error"),
                    context -> assertThat(context)
                            .startsWith("warmpath: --context is 4096, but the model was made for 64 tokens"));
        }
        assertThat(state.resolve("check-made")).doesNotExist();
    }

    @Test
    void a_worker_that_ends_before_it_is_ready_has_the_last_word_and_leaves_no_process()
            throws IOException, InterruptedException {
        Process up = builder(state.resolve("said"), Map.of("WARMPATH_ROUTERLINK_HEARTBEATINTERVAL", "1h"), "up",
                "--workers", "1", "--detach", "--port", Integer.toString(LocalFleet.freePortRange(1, 1))).start();

        assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(up.exitValue()).isEqualTo(1);
        assertThat(read("said")).contains("worker-1 ended before it was ready", "warmpath.routerlink",
                "heartbeatInterval")
                .doesNotContain("\tat ");
        assertThat(warmpath("status").text()).contains("no fleet is running");
    }

    @Test
    void a_busy_port_is_a_sentence_and_starts_nothing() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 2);
        try (var taken = new ServerSocket(port + 2, 1, InetAddress.getLoopbackAddress())) {
            Said up = warmpath("up", "--detach", "--port", Integer.toString(port));

            assertThat(up.status()).isEqualTo(1);
            assertThat(up.text()).contains("port " + taken.getLocalPort() + " is in use").doesNotContain("starting");
        }
    }

    @Test
    void a_fleet_open_to_the_network_turns_strangers_away_from_its_workers() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 1);
        try {
            Said up = warmpath(
                    "up", "--host", "0.0.0.0", "--detach", "--workers", "1", "--port", Integer.toString(port));
            assertThat(up.status()).as(up.text()).isZero();
            assertThat(up.text()).contains("Open to whoever reaches 0.0.0.0, and nothing is encrypted:",
                    "without any key             the API (routers' ports, the first is " + port + ")",
                    "with the operators' token   changes on management ports", "/management-token");
            assertThat(gateway(port).complete("Hello", 2).status()).isEqualTo(200);

            Gateway stranger = gateway(port + 1);
            assertThat(stranger.status("/v1/generate", Map.of("promptTokens", List.of(1, 2, 3)))).isEqualTo(401);
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
    }

    @Test
    void a_routers_heap_follows_from_the_streams_it_is_to_hold() throws IOException, InterruptedException {
        Process up = builder(state.resolve("foreground"), Map.of("WARMPATH_ADMISSION_MAXINFLIGHT", "3000"),
                "up", "--workers", "1", "--port", Integer.toString(LocalFleet.freePortRange(1, 1))).start();
        try {
            Await.until("router and worker are starting", () -> pids().size() == 2);

            // 32 MB and 293 MB for 3,000 streams, half as much to spare, 96 MB of caches, and as much again for bodies
            assertThat(commandLine(pids().getFirst())).contains("-Xmx1166m");
        } finally {
            up.destroy();
            assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            warmpath("down");
        }
    }

    @Test
    void a_signal_to_a_foreground_up_leaves_no_process() throws IOException, InterruptedException {
        Process up = foreground(LocalFleet.freePortRange(1, 2));
        try {
            Await.until("three processes are starting", () -> pids().size() == 3);
            List<Long> started = pids();

            up.destroy();                                   // SIGTERM

            assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Await.until("whoever inherits them has buried them",
                    () -> started.stream().noneMatch(pid -> ProcessHandle.of(pid).isPresent()));
        } finally {
            warmpath("down");
        }
    }

    @Test
    void while_a_fleet_is_started_nobody_else_starts_one_and_down_ends_it() throws IOException, InterruptedException {
        int port = LocalFleet.freePortRange(1, 4);
        Process up = foreground(port);
        try {
            Await.until("three processes are starting", () -> pids().size() == 3);
            List<Long> started = pids();
            // by then it may be ready on a fast machine, and who comes second is told so
            assertThat(warmpath("up", "--port", Integer.toString(port + 3))).satisfies(said -> {
                assertThat(said.status()).isEqualTo(1);
                assertThat(said.text()).containsAnyOf("a fleet is running already", "a fleet is being started by");
            });
            assertThat(pids()).isEqualTo(started);

            assertThat(warmpath("down")).satisfies(said -> {
                assertThat(said.status()).isZero();
                assertThat(said.text()).isEqualTo("stopping ...\nstopped\n");
            });

            assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Await.until("no process is left",
                    () -> started.stream().noneMatch(pid -> ProcessHandle.of(pid).isPresent()));
            assertThat(read("foreground")).doesNotContain("ended before", "first completion", "\tat ");
            assertThat(state.resolve("launches.json")).as("it has the environment").doesNotExist();
        } finally {
            warmpath("down");
        }
    }

    @Test
    void down_during_a_restart_leaves_no_process_that_nobody_knows() throws IOException, InterruptedException {
        Said up = warmpath("up", "--json", "--detach", "--workers", "2", "--port",
                Integer.toString(LocalFleet.freePortRange(1, 2)));
        try {
            assertThat(up.status()).as(up.text()).isZero();
            assertThat(up.text().lines().toList().getLast()).startsWith("{\"processes\":[").contains("\"worker-2\"");
            Long before = pids().getLast();
            Process restart = builder(state.resolve("restart"), Map.of(), "restart", "worker-2").start();
            Await.until("it is at work", () -> Files.exists(state.resolve("lock.holder")));

            assertThat(warmpath("down").text()).endsWith("stopped\n");

            assertThat(restart.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            Await.until("nobody maps this fleet's weights", () -> ProcessHandle.of(before).isEmpty()
                    && ProcessHandle.allProcesses().noneMatch(process ->
                            process.info().commandLine().orElse("").contains("shared-weights=" + state)));
        } finally {
            warmpath("down");
        }
    }

    @Test
    @Tag("full")                                    // half a minute: a frozen process is waited for until it is killed
    void a_start_in_which_nothing_moves_is_given_up_and_named() throws IOException, InterruptedException {
        Process up = builder(state.resolve("foreground"), Map.of("WARMPATH_STALL_SECONDS", "3"), "up", "--workers", "1",
                "--port", Integer.toString(LocalFleet.freePortRange(1, 1))).start();
        try {
            Await.until("two processes are starting", () -> pids().size() == 2);
            long worker = pids().get(1);
            signal(worker, "-STOP");

            assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
            assertThat(up.exitValue()).isEqualTo(1);
            assertThat(read("foreground"))
                    .as("on a busy machine the router may not get a second of it in three, either")
                    .containsPattern("not ready, and without any progress for 3 s: (router )?worker-1");
            assertThat(warmpath("status").text()).contains("no fleet is running");
        } finally {
            warmpath("down");
        }
    }

    private static void signal(long pid, String signal) throws IOException, InterruptedException {
        assertThat(new ProcessBuilder("kill", signal, Long.toString(pid)).start().waitFor()).isZero();
    }

    @Test
    void down_ends_a_foreground_up_quietly() throws IOException, InterruptedException {
        Process up = foreground(LocalFleet.freePortRange(1, 2));
        try {
            Await.until("up watches its fleet",
                    () -> read("foreground").contains("Ctrl-C stops everything."));
        } finally {
            assertThat(warmpath("down").status()).isZero();
        }
        assertThat(up.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).isTrue();
        assertThat(up.exitValue()).isZero();
        assertThat(read("foreground")).endsWith("Ctrl-C stops everything.\nstopped\n");
    }

    private static Gateway gateway(int port) {
        return new Gateway(URI.create("http://127.0.0.1:" + port), URI.create("http://127.0.0.1:" + (port + 1000)));
    }

    private static String commandLine(long pid) {
        return ProcessHandle.of(pid).orElseThrow().info().commandLine().orElse("");
    }

    /** @return number and path of the file of weights that a process has mapped; empty if none */
    private static String mappedWeights(long pid) {
        try (Stream<String> maps = Files.lines(Path.of("/proc/" + pid + "/maps"))) {
            return maps.filter(line -> line.endsWith(".panels")).map(line -> line.split(" +", 5)[4]).distinct()
                    .collect(Collectors.joining(", "));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @return pids in the fleet file: role, id, pid, ... */
    private List<Long> pids() {
        return read("fleet").lines().map(line -> Long.valueOf(line.split(" ")[2])).toList();
    }

    private String read(String file) {
        try {
            Path path = state.resolve(file);
            return Files.exists(path) ? Files.readString(path) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Process foreground(int port) throws IOException {
        return builder(state.resolve("foreground"), Map.of(), "up", "--port", Integer.toString(port)).start();
    }

    private Said warmpath(String... arguments) throws IOException, InterruptedException {
        Path output = state.resolve("said");
        Process process = builder(output, Map.of(), arguments).start();
        assertThat(process.waitFor(TIMEOUT.toSeconds(), TimeUnit.SECONDS)).as("the launcher returns").isTrue();
        return new Said(process.exitValue(), Files.readString(output));
    }

    private ProcessBuilder builder(Path output, Map<String, String> environment, String... arguments) {
        List<String> command = new ArrayList<>(List.of(LocalFleet.ROOT.resolve("warmpath").toString()));
        command.addAll(List.of(arguments));
        var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().put("WARMPATH_STATE", state.toString());
        builder.environment().merge("PATH", state.resolve("bin").toString(), (old, own) -> own + ":" + old);
        builder.environment().remove("WARMPATH_REDIS_URI");
        builder.environment().put("WARMPATH_CUDA_DRIVER", "/nowhere/libcuda.so.1");      // no GPU, on any machine
        builder.environment().putAll(environment);
        return builder;
    }
}
