package dev.warmpath.benchmarks.fleet;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.redislink.RedisLink;
import dev.warmpath.router.RouterApplication;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.time.Duration;
import java.util.function.Consumer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import redis.embedded.RedisServer;

/** A real Redis on loopback, a whole router in this process, and registrations of workers that only seem to live. */
final class RouterWithRedis implements AutoCloseable {

    static final FleetToken TOKEN = FleetToken.of("benchmark");
    private static final RevisionParts PARTS = new RevisionParts("a".repeat(64), "", "b".repeat(64), "c".repeat(64),
            "", "sha256_cbor", "0", 16, 2_048);
    private static final Duration BACK_SOON = Duration.ofMillis(10);

    private final RedisServer redis;
    private final ServerSocket seemingWorker;
    private final int redisPort;

    RouterWithRedis() throws IOException {
        try (var free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            redisPort = free.getLocalPort();
        }
        redis = RedisServer.newRedisServer().bind("127.0.0.1").port(redisPort)
                .setting("save \"\"").setting("appendonly no").build();
        redis.start();
        seemingWorker = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread.ofVirtual().start(this::acceptAndHangUp);
    }

    String redisUri() {
        return "redis://127.0.0.1:" + redisPort;
    }

    /** The router asks now and then whether a worker without heartbeats still accepts connections. */
    Registration registration(String workerId, long epoch, int blockCount) {
        return new Registration(Protocol.VERSION, workerId, epoch,
                URI.create("http://127.0.0.1:" + seemingWorker.getLocalPort()),
                new ModelDescription("none", revision(), PARTS, 1_000, 512), blockCount, 8, true);
    }

    static String revision() {
        return PARTS.revision();
    }

    /** @param seen told of every bean of the router as soon as it is made, before the router is up */
    ConfigurableApplicationContext startRouter(Consumer<Object> seen) {
        return new SpringApplicationBuilder(RouterApplication.class)
                .initializers(context -> context.getBeanFactory().addBeanPostProcessor(new BeanPostProcessor() {
                    @Override
                    public Object postProcessAfterInitialization(Object bean, String name) {
                        seen.accept(bean);
                        return bean;
                    }
                }))
                .run("--server.port=0", "--management.server.port=0", "--warmpath.redis.uri=" + redisUri(),
                        "--warmpath.fleet.token=benchmark", "--warmpath.fleet.lease-duration=1h",
                        "--logging.level.root=WARN", "--logging.level.dev.warmpath=ERROR");
    }

    static void awaitConnected(RedisLink link) {
        while (!link.isConnected()) {
            pause();
        }
    }

    static void pause() {
        try {
            Thread.sleep(BACK_SOON);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void acceptAndHangUp() {
        try {
            while (true) {
                seemingWorker.accept().close();
            }
        } catch (IOException e) {
            if (!seemingWorker.isClosed()) {
                throw new UncheckedIOException(e);
            }
        }
    }

    @Override
    public void close() throws IOException {
        redis.stop();
        seemingWorker.close();
    }
}
