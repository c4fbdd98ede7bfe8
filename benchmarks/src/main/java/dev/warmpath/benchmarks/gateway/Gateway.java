package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A gateway that can be started in front of the mock workers. */
sealed interface Gateway {

    String name();

    /** Those that are compiled while they run need some load before they are measured. */
    default boolean compilesItself() {
        return false;
    }

    /** It brings mock workers of its own, whose pace and tokens are theirs. */
    default boolean hasOwnWorkers() {
        return false;
    }

    /** @param site where it is started */
    Started start(Site site) throws IOException;

    /**
     * @param fleet  to which requests go
     * @param model  folder with the model's tokenizer
     * @param folder for its files
     * @param port   to listen on
     */
    record Site(MockFleet fleet, Path model, Path folder, int port) {

        Process run(List<String> command, Path log) throws IOException {
            return run(command, Map.of(), log);
        }

        Process run(List<String> command, Map<String, String> environment, Path log) throws IOException {
            var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            // whoever stops the benchmark stops what it started
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
            return process;
        }

        Path log(String name) {
            return folder.resolve(name + ".log");
        }
    }

    /**
     * @param process whose cost is measured
     * @param greeter keeps the workers' leases; null = it asks for none
     * @param workers of its own; null = none
     */
    record Started(Process process, Path log, @Nullable Thread greeter, @Nullable Process workers) {

        Started(Process process, Path log) {
            this(process, log, null, null);
        }
    }

    /** Ours. @param flags of its virtual machine */
    record OurRouter(String name, Path jar, List<String> flags) implements Gateway {

        /** 3,000 streams to two workers; the default is for fewer. */
        private static final String WORKER_CONNECTIONS = "--warmpath.dispatch.max-connections-per-worker=4096";

        @Override
        public boolean compilesItself() {
            return true;
        }

        @Override
        public Started start(Site site) throws IOException {
            int management = Ports.free();
            List<String> command = new ArrayList<>(
                    List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
            command.addAll(flags);
            command.addAll(List.of("-jar", jar.toString(), "--server.address=127.0.0.1", "--server.port=" + site.port,
                    "--management.server.address=127.0.0.1", "--management.server.port=" + management,
                    WORKER_CONNECTIONS, "--warmpath.drain.settle=0s"));
            Path log = site.log(name);
            return new Started(site.run(command, log), log,
                    site.fleet.introduceTo(URI.create("http://127.0.0.1:" + management)), null);
        }
    }

    /** The plain proxy: what passing bytes on costs where nobody reads them. */
    record Nginx(String name, int processes) implements Gateway {

        /** Where Debian's package puts it, which is not on everybody's path. */
        private static final Path EXECUTABLE = Path.of("/usr/sbin/nginx");
        private static final String CONFIGURATION = """
                user root;
                worker_processes %d;
                daemon off;
                pid %s/nginx.pid;
                error_log %s/nginx-errors.log;
                worker_rlimit_nofile 16384;
                events { worker_connections 8192; }
                http {
                    access_log off;
                    client_body_temp_path %s/nginx-bodies;
                    client_max_body_size 16m;
                    client_body_buffer_size 256k;
                    keepalive_requests 100000000;
                    upstream workers {
                %s
                        keepalive 4096;
                        keepalive_requests 100000000;
                    }
                    server {
                        listen 127.0.0.1:%d backlog=4096;
                        location / {
                            proxy_pass http://workers;
                            proxy_http_version 1.1;
                            proxy_set_header Connection "";
                            proxy_buffering off;
                        }
                    }
                }
                """;

        @Override
        public Started start(Site site) throws IOException {
            Path folder = site.folder.toAbsolutePath();
            String servers = site.fleet.ports().stream().map("        server 127.0.0.1:%d;"::formatted)
                    .collect(Collectors.joining("\n"));
            Path configuration = Files.writeString(folder.resolve("nginx.conf"), CONFIGURATION.formatted(processes,
                    folder, folder, folder, servers, site.port));
            Path log = site.log(name);
            return new Started(site.run(List.of(EXECUTABLE.toString(), "-e", folder.resolve("nginx-errors.log").toString(),
                    "-c", configuration.toString()), log), log);
        }
    }

    /**
     * A router of another project.
     *
     * @param command how it is started; {port} stands for where it listens, {metrics} for another free port, {workers}
     *                for the workers' addresses, each an argument of its own
     */
    record Peer(String name, List<String> command) implements Gateway {

        @Override
        public Started start(Site site) throws IOException {
            List<String> arguments = new ArrayList<>();
            String metrics = Integer.toString(Ports.free());
            for (String word : command) {
                if (word.equals("{workers}")) {
                    site.fleet.ports().forEach(port -> arguments.add("http://127.0.0.1:" + port));
                } else {
                    arguments.add(word.replace("{port}", Integer.toString(site.port)).replace("{metrics}", metrics));
                }
            }
            Path log = site.log(name);
            return new Started(site.run(arguments, log), log);
        }
    }

    /**
     * Dynamo's frontend with its KV router, over the mocker that comes with it: it speaks no protocol that another mock
     * could. A step of the mocker takes some 6 ms, and prompts are computed ten times as fast as it has them by default.
     *
     * @param python of an environment with ai-dynamo
     */
    record Dynamo(String name, Path python) implements Gateway {

        private static final List<String> PLANES = List.of("--discovery-backend", "file", "--request-plane", "tcp",
                "--event-plane", "zmq");

        @Override
        public boolean hasOwnWorkers() {
            return true;
        }

        @Override
        public Started start(Site site) throws IOException {
            Map<String, String> environment = Map.of("DYN_LOG", "warn",
                    "DYN_FILE_KV", Files.createDirectories(site.folder.resolve("dynamo")).toString());
            Process workers = site.run(module("dynamo.mocker", "--model-path", site.model.toString(),
                    "--model-name", MockModel.NAME, "--block-size", "16", "--num-workers", "2",
                    "--speedup-ratio", "10", "--decode-speedup-ratio", "0.1"), environment, site.log("dynamo-mocker"));
            Path log = site.log(name);
            return new Started(site.run(module("dynamo.frontend", "--router-mode", "kv", "--http-host", "127.0.0.1",
                    "--http-port", Integer.toString(site.port), "--kv-cache-block-size", "16"), environment, log), log,
                    null, workers);
        }

        private List<String> module(String module, String... arguments) {
            List<String> command = new ArrayList<>(List.of(python.toString(), "-m", module));
            command.addAll(Arrays.asList(arguments));
            command.addAll(PLANES);
            return command;
        }
    }
}
