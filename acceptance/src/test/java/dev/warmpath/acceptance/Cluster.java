package dev.warmpath.acceptance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * A real Kubernetes with one node, started by {@code src/test/kubernetes/cluster.sh} in a network namespace of its own.
 * What is said to it comes back as kubectl and helm say it. Closing ends all of it.
 */
final class Cluster implements AutoCloseable {

    private static final List<String> TOOLS = List.of("go", "containerd", "ctr", "runc", "nft", "conntrack", "ip", "nsenter",
            "openssl", "sysctl", "setsid", "awk", "curl", "wget", "redis-server");
    private static final Path NETWORK_PLUGIN = Path.of("/usr/lib/cni/ptp");
    private static final String ADVICE = "apt-get install golang containerd runc containernetworking-plugins nftables"
            + " conntrack iproute2 util-linux openssl procps mawk curl podman netavark redis-server wget";
    private static final String SCRIPT = Path.of("src/test/kubernetes/cluster.sh").toAbsolutePath().toString();
    private static final Path STATE = Path.of("target/kubernetes").toAbsolutePath();
    private static final JsonMapper JSON = JsonMapper.builder().build();

    /** @return why there can be none here; empty if there can */
    static String missing() {
        List<String> missing = new ArrayList<>(TOOLS);
        missing.removeIf(Command::isInstalled);
        if (!Files.isExecutable(NETWORK_PLUGIN)) {
            missing.add(NETWORK_PLUGIN.toString());
        }
        if (!System.getProperty("user.name").equals("root")) {
            missing.add("root's rights");
        }
        return missing.isEmpty() ? "" : "missing are " + missing + ": " + ADVICE;
    }

    /** Builds what it consists of, once on a machine. @return the program that holds pods together */
    static Path build() {
        return Path.of(Command.run(Map.of(), List.of(SCRIPT, "build")).lines().toList().getLast(), "pause");
    }

    /** Starts what was built. What a run before may have left is ended. @param images {@code localhost/pause} among them */
    Cluster(List<Path> images) throws IOException {
        Files.createDirectories(STATE);
        script("down");
        try {
            script(Stream.concat(Stream.of("up"), images.stream().map(Path::toString)).toArray(String[]::new));
        } catch (AssertionError e) {
            close();
            throw e;
        }
    }

    String kubectl(String... arguments) {
        return inside("kubectl", arguments);
    }

    /** What {@code kubectl get} knows. */
    JsonNode get(String... arguments) {
        String[] all = Arrays.copyOf(arguments, arguments.length + 2);
        all[arguments.length] = "--output";
        all[arguments.length + 1] = "json";
        return JSON.readTree(inside("kubectl get", all));
    }

    /** @param manifest YAML */
    void apply(String namespace, String manifest) throws IOException {
        Path file = Files.writeString(STATE.resolve("manifest.yaml"), manifest);
        kubectl("apply", "--namespace", namespace, "--filename", file.toString());
    }

    String helm(String... arguments) {
        return inside("helm", arguments);
    }

    /** A node that exists by name only: pods are placed there and stay Pending. */
    void pretend(String node, int cards) {
        script("pretend", node, Integer.toString(cards));
    }

    /** A program where the cluster's addresses are, which goes on by itself. */
    Process start(Path output, String... command) throws IOException {
        return new ProcessBuilder(whole("in", command)).redirectErrorStream(true).redirectOutput(output.toFile()).start();
    }

    String run(String... command) {
        return inside(command[0], Arrays.copyOfRange(command, 1, command.length));
    }

    private String inside(String program, String... arguments) {
        List<String> command = new ArrayList<>(List.of(program.split(" ")));
        command.addAll(List.of(arguments));
        return Command.run(Map.of(), whole("in", command.toArray(String[]::new)));
    }

    private static String script(String... words) {
        return Command.run(Map.of(), whole(words[0], Arrays.copyOfRange(words, 1, words.length)));
    }

    private static List<String> whole(String word, String... arguments) {
        List<String> command = new ArrayList<>(List.of(SCRIPT, STATE.toString(), word));
        command.addAll(List.of(arguments));
        return command;
    }

    @Override
    public void close() {
        script("down");
    }
}
