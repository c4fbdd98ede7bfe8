package dev.warmpath.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.warmpath.cli.build.Ending;
import dev.warmpath.cli.fleet.Installation;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** Commands as they are called, as far as nothing is started. */
class WarmpathTest {

    @TempDir
    Path state;
    private Map<String, String> environment;

    private record Said(int status, String out, String err) {}

    @BeforeEach
    void forgetTheCallers() {
        environment = new HashMap<>(System.getenv());
        environment.keySet().removeIf(name -> name.startsWith("WARMPATH_"));
    }

    private CommandLine commandLine() {
        return Warmpath.commandLine(new Call(new Installation(Path.of("..").toAbsolutePath().normalize(), state,
                environment), new Ending()));
    }

    private Said warmpath(String... arguments) {
        var out = new StringWriter();
        var err = new StringWriter();
        int status = commandLine().setOut(new PrintWriter(out)).setErr(new PrintWriter(err)).execute(arguments);
        return new Said(status, out.toString(), err.toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
            up --workers 0            | --workers takes a number from 1 to 64, not '0'
            up --routers 10           | --routers takes a number from 1 to 9, not '10'
            up --port 64534           | --port takes a number from 1 to 64533, not '64534'
            up --context 1            | --context takes a number from 2 to 100000000, not '1'
            up --heap 2g              | --heap takes a size such as 512MB or 4GB, not '2g'
            up --backend gpu          | --backend takes auto, cuda, vector or scalar, not 'gpu'
            up --quantization int4    | --quantization takes none or int8, not 'int4'
            up --redis here           | --redis takes 'embedded' or a URI like redis://host:6379
            up --host a/b             | --host takes a name or an address, not 'a/b'
            up --host my_host         | --host takes a name or an address, not 'my_host'
            up --host 1:2:3           | --host takes a name or an address, not '1:2:3'
            up --engine vllm=http://h | --engine needs --model: the folder from which the engine was started
            up --start-timeout 0      | --start-timeout takes a number from 1 to 86400, not '0'
            up --json                 | --json needs --detach
            up --set kv=1             | --set takes NAME=VALUE
            up --model                | --model needs a value
            up everything             | up does not know 'everything'
            up --detached             | Possible solutions: --detach
            status --jsn              | Possible solutions: --json
            restart                   | Missing required parameter: 'ID'
            logs --lines many         | --lines takes a number from 0 to 100000, not 'many'
            doctor --model /m         | --model needs --engine
            key                       | Missing required parameter: 'NAME'
            images --push             | --push needs a --registry to push to
            profile                   | profile takes the id of a process, such as worker-1
            completion fish           | 'fish'
            statsu                    | 'statsu' is no command
            """)
    void a_wrong_call_is_a_sentence_and_status_2(String call, String sentence) {
        Said said = warmpath(call.split(" "));
        assertThat(said.err()).contains(sentence).doesNotContain("\tat ");
        assertThat(said.status()).isEqualTo(2);
        assertThat(said.out()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"status", "restart worker-1", "profile worker-1", "index", "logs", "up --model nowhere"})
    void what_cannot_be_done_is_a_sentence_and_status_1(String call) {
        Said said = warmpath(call.split(" "));
        assertThat(said.status()).isEqualTo(1);
        assertThat((said.out() + said.err()).lines()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"up", "status", "logs", "restart", "down", "doctor", "index", "key", "profile", "images",
            "verify", "completion"})
    void each_command_tells_how_it_is_used_and_does_nothing_else(String command) throws IOException {
        Files.writeString(state.resolve("fleet"), "router router 1 1 8080 http://127.0.0.1:8080\n");
        Said said = warmpath(command, "--help");
        assertThat(said.status()).isZero();
        assertThat(said.out()).startsWith("Usage: warmpath " + command).contains("--help");
        assertThat(state.toFile().list()).containsExactly("fleet");
    }

    @Test
    void the_help_lists_all_commands_a_line_or_two_each() {
        Said said = warmpath("help");
        assertThat(said.status()).isZero();
        assertThat(said.out()).contains("up ", "status ", "logs ", "restart ", "down ", "doctor ", "verify ",
                "Exit status: 0 done, 1 it failed, 2 it was called wrong.");
    }

    @Test
    void down_without_a_fleet_clears_what_one_has_left() throws IOException {
        Files.writeString(state.resolve("fleet"), "router router 1 1 8080 http://127.0.0.1:8080\n");
        Files.writeString(state.resolve("redis"), "WARMPATH_REDIS_URI=redis://127.0.0.1:1\n");
        Said said = warmpath("down");
        assertThat(said.status()).isZero();
        assertThat(said.out()).isEqualTo("no fleet is running\n");
        assertThat(warmpath("down", "--json").out()).isEqualTo("{\"stopped\":[]}\n");
        assertThat(state.toFile().list()).containsExactly("lock");
    }

    @Test
    void status_tells_who_has_ended_also_as_json() throws IOException {
        Files.writeString(state.resolve("fleet"), "router router 1 1 64535 http://127.0.0.1:64535\n");
        assertThat(warmpath("status").out()).contains("router  router     http://127.0.0.1:64535       ended");
        assertThat(warmpath("status", "--json").out()).isEqualTo(
                "{\"processes\":[{\"role\":\"router\",\"id\":\"router\","
                + "\"pid\":1,\"url\":\"http://127.0.0.1:64535\",\"state\":\"ended\"}]}\n");
    }

    @Test
    void logs_of_all_processes_have_their_ids_and_those_of_one_have_none() throws IOException {
        Path logs = Files.createDirectories(state.resolve("logs"));
        Files.writeString(logs.resolve("router.log"), "one\ntwo\nthree\n");
        Files.writeString(logs.resolve("worker-1.log"), "four\n");
        Files.writeString(logs.resolve("build.log"), "not of a process\n");
        assertThat(warmpath("logs", "-n", "2").out()).isEqualTo("router    | two\nrouter    | three\nworker-1  | "
                + "four\n");
        assertThat(warmpath("logs", "router", "--lines", "1").out()).isEqualTo("three\n");
        assertThat(warmpath("logs", "worker-1", "--json").out()).isEqualTo("{\"id\":\"worker-1\",\"line\":\"four\"}\n");
        assertThat(warmpath("logs", "worker-2").err()).contains("there are router, worker-1");
    }

    @Test
    void a_state_folder_that_cannot_be_written_is_a_sentence() throws IOException {
        Path file = Files.writeString(state.resolve("file"), "");
        var err = new StringWriter();
        int status = Warmpath.commandLine(new Call(new Installation(Path.of("..").toAbsolutePath().normalize(), file,
                environment), new Ending())).setErr(new PrintWriter(err)).execute("up");
        assertThat(status).isEqualTo(1);
        assertThat(err.toString()).contains(file.toString()).doesNotContain("\tat ");
    }

    @Test
    void a_variable_that_means_nothing_is_found_by_the_doctor_before_a_process_refuses_it() {
        environment.put("WARMPATH_KV_BLOKSIZE", "32");
        Said said = warmpath("doctor", "--port", "63000");
        assertThat(said.status()).isEqualTo(1);
        assertThat(said.out()).contains("  missing  WARMPATH_KV_BLOKSIZE stands for no setting", "  ok       Java 25");
        assertThat(warmpath("doctor", "--json", "--port", "63000").out()).startsWith("{\"findings\":[");
    }

    @ParameterizedTest
    @ValueSource(strings = {"bash", "zsh"})
    void a_shell_completes_commands_options_their_values_and_the_ids_of_the_fleet(String shell)
            throws IOException, InterruptedException {
        @Nullable Path program = Stream.of(System.getenv("PATH").split(":")).map(folder -> Path.of(folder, shell))
                .filter(Files::isExecutable).findFirst().orElse(null);
        assumeTrue(program != null, "left out: there is no " + shell + " to complete");
        Said said = warmpath("completion", shell);
        assertThat(said.status()).isZero();
        Path script = Files.writeString(state.resolve("completion"), said.out());
        assertThat(completed(program, script, "warmpath", "drain", "wor")).isEmpty();          // no fleet, no id
        Files.writeString(state.resolve("fleet"), """
                redis redis 1 1 8980 http://127.0.0.1:8980
                worker worker-1 1 1 8081 http://127.0.0.1:8081
                worker worker-2 1 1 8082 http://127.0.0.1:8082
                router router 1 1 8080 http://127.0.0.1:8080
                """);

        assertThat(completed(program, script, "./warmpath", "re")).contains("restart", "reset-cache");
        assertThat(completed(program, script, "warmpath", "up", "--start")).contains("--start-timeout");
        assertThat(completed(program, script, "warmpath", "logs", "--fo")).contains("--follow");
        assertThat(completed(program, script, "warmpath", "up", "--backend", "")).contains("auto", "cuda", "scalar");
        assertThat(completed(program, script, "warmpath", "bench", "--load", "chat")).contains("chatbot");
        assertThat(completed(program, script, "warmpath", "drain", "wor")).isEqualTo("worker-1\nworker-2\n");
        assertThat(completed(program, script, "warmpath", "undrain", "")).contains("worker-2")
                .doesNotContain("router", "redis");
        assertThat(completed(program, script, "warmpath", "logs", "r")).isEqualTo("redis\nrouter\n");
    }

    /** What the shell would offer for the last word, in order, by what is registered for the command. */
    private String completed(Path shell, Path script, String... words) throws IOException, InterruptedException {
        var builder = new ProcessBuilder(shell.toString(), shell.endsWith("zsh") ? "-f" : "--norc", "-c",
                shell.endsWith("zsh") ? """
                        source "$1"; shift
                        compadd() { print -rl -- $matches }               # it would draw, and there is no line
                        words=("$@") CURRENT=$# PREFIX=${@: -1} SUFFIX= IPREFIX= QIPREFIX=
                        _bash_complete -o default -F _complete_warmpath
                        """ : """
                        source "$1"; shift
                        registered=$(complete -p warmpath) || exit 1
                        function=${registered##*-F }; function=${function%% *}
                        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
                        "$function" "$1" "${!#}" "${@: -2:1}"
                        printf '%s\\n' "${COMPREPLY[@]}"
                        """, shell.toString(), script.toString());
        builder.command().addAll(List.of(words));
        builder.environment().put("WARMPATH_STATE", state.toString());
        builder.environment().put("HOME", state.toString());               // in which zsh would write
        Process completing = builder.redirectErrorStream(true).redirectInput(new File("/dev/null")).start();
        String offered = new String(completing.getInputStream().readAllBytes(), UTF_8);
        completing.waitFor();
        return offered.lines().map(String::strip).filter(line -> !line.isEmpty())
                .filter(line -> line.startsWith(words[words.length - 1])).distinct().sorted()    // zsh does so itself
                .map(line -> line + "\n").collect(Collectors.joining());
    }
}
