package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A gateway that can be started in front of the mock workers. */
sealed interface Gateway {

    String name();

    /** Those that are compiled while they run need some load before they are measured. */
    default boolean compilesItself() {
        return false;
    }

    /** @param site where it is started */
    Started start(Site site) throws IOException;

    /**
     * @param fleet  to which requests go
     * @param folder for its files
     * @param port   to listen on
     */
    record Site(MockFleet fleet, Path folder, int port) {

        Process run(List<String> command, Path log) throws IOException {
            return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        }

        Path log(String name) {
            return folder.resolve(name + ".log");
        }
    }

    /** @param greeter keeps the workers' leases; null = it asks for none */
    record Started(Process process, Path log, @Nullable Thread greeter) {}

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
                    site.fleet.introduceTo(URI.create("http://127.0.0.1:" + management)));
        }
    }

    /** The plain proxy: what passing bytes on costs where nobody reads them. */
    record Nginx(String name, String executable, int processes) implements Gateway {

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
            return new Started(site.run(List.of(executable, "-e", folder.resolve("nginx-errors.log").toString(),
                    "-c", configuration.toString()), log), log, null);
        }
    }

    /**
     * A router of another project.
     *
     * @param command how it is started; {port} stands for where it listens, {workers} for the workers' addresses, each
     *                an argument of its own
     */
    record Peer(String name, List<String> command) implements Gateway {

        @Override
        public Started start(Site site) throws IOException {
            List<String> arguments = new ArrayList<>();
            for (String word : command) {
                if (word.equals("{workers}")) {
                    site.fleet.ports().forEach(port -> arguments.add("http://127.0.0.1:" + port));
                } else {
                    arguments.add(word.replace("{port}", Integer.toString(site.port)));
                }
            }
            Path log = site.log(name);
            return new Started(site.run(arguments, log), log, null);
        }
    }
}
