package dev.warmpath.redislink;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.BooleanSupplier;
import redis.embedded.RedisServer;
import redis.embedded.core.RedisServerBuilder;

/** A real Redis 6.2 on loopback, without persistence, that a test may stop, kill, freeze and start again. */
public final class TestRedis implements AutoCloseable {

    /** Longer than any machine takes. */
    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private static final Queue<DatagramSocket> RESERVED = new ConcurrentLinkedQueue<>();

    private final int port;
    private final String[] settings;
    private RedisServer server;
    private RedisClient client;
    private StatefulRedisConnection<String, byte[]> connection;
    private long pid;

    private TestRedis(int port, String... settings) {
        this.port = port;
        this.settings = settings;
    }

    /** Not running yet. @param settings lines of redis.conf */
    public static TestRedis absent(String... settings) {
        return new TestRedis(freePort(), settings);
    }

    public static TestRedis started(String... settings) {
        TestRedis redis = absent(settings);
        redis.start();
        return redis;
    }

    /** Not the system's choice: it gives such ports to clients, too, and one may take it while the server is down. */
    public static int freePort() {
        int port;
        do {
            port = ThreadLocalRandom.current().nextInt(20_000, 30_000);
        } while (!isFree(port));
        return port;
    }

    /** A port whose partner for the cluster's own talk, 10,000 above, is free and not the system's to give, too. */
    static int freeClusterPort() {
        int port;
        do {
            port = ThreadLocalRandom.current().nextInt(10_000, 20_000);
        } while (!isFree(port) || !isFree(port + 10_000));
        return port;
    }

    /** Held from now on, by its namesake among the UDP ports, so that no other test on this machine takes it. */
    private static boolean isFree(int port) {
        try (var _ = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            RESERVED.add(new DatagramSocket(port, InetAddress.getLoopbackAddress()));
            return true;
        } catch (IOException _) {
            return false;
        }
    }

    /** Waits until something holds that other threads bring about. */
    public static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("after " + PATIENCE.toMinutes() + " minutes still not: " + what);
            }
            sleep(10);
        }
    }

    public static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A new process with nothing in it, on the same port as ever. */
    public void start() {
        try {
            RedisServerBuilder builder = RedisServer.newRedisServer().bind("127.0.0.1").port(port)
                    .setting("save \"\"").setting("appendonly no");
            for (String setting : settings) {
                builder.setting(setting);
            }
            server = builder.build();
            server.start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        client = RedisClient.create(uri());
        connection = client.connect(RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE));
        pid = commands().info("server").lines().filter(line -> line.startsWith("process_id:"))
                .map(line -> Long.parseLong(line.substring("process_id:".length()).strip())).findFirst().orElseThrow();
    }

    public void stop() {
        if (server == null) {
            return;
        }
        signal("-CONT");                                           // a frozen process would not end
        connection.close();
        client.shutdown(Duration.ZERO, Duration.ofSeconds(1));
        try {
            server.stop();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server = null;
    }

    /** As when the machine loses power: what is on its way is lost. */
    public void kill() {
        signal("-KILL");
        stop();
    }

    /** The process stays, connections stay open, nothing is answered. */
    public void freeze() {
        signal("-STOP");
    }

    public void thaw() {
        signal("-CONT");
    }

    public int port() {
        return port;
    }

    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    /** The test's own connection, as the default user. */
    public RedisCommands<String, byte[]> commands() {
        return connection.sync();
    }

    @Override
    public void close() {
        stop();
    }

    private void signal(String signal) {
        try {
            new ProcessBuilder("kill", signal, Long.toString(pid)).redirectErrorStream(true).start().waitFor();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
