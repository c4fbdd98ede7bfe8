package dev.warmpath.redislink;

import static dev.warmpath.redislink.RedisLinkTest.patiently;
import static dev.warmpath.redislink.TestRedis.await;
import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.redis.RedisLayout;
import io.lettuce.core.AclCategory;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import redis.embedded.RedisServer;
import redis.embedded.RedisShardedCluster;
import redis.embedded.core.RedisServerBuilder;

/** The same link to three shards. */
class RedisClusterLinkTest {

    private static RedisShardedCluster cluster;

    @BeforeAll
    static void start() throws IOException {
        RedisServerBuilder server = RedisServer.newRedisServer().bind("127.0.0.1")
                .setting("save \"\"").setting("appendonly no");
        cluster = RedisShardedCluster.newRedisCluster().withServerBuilder(server)
                .serverPorts(List.of(TestRedis.freeClusterPort(), TestRedis.freeClusterPort(),
                        TestRedis.freeClusterPort()))
                .shard("a", 0).shard("b", 0).shard("c", 0).build();
        cluster.start();
    }

    @AfterAll
    static void stop() throws IOException {
        cluster.stop();
    }

    @Test
    void every_stream_is_written_and_read_wherever_its_shard_is() {
        List<Integer> ports = cluster.serverPorts();
        var properties = new RedisProperties("redis://127.0.0.1:" + ports.get(0) + ",127.0.0.1:" + ports.get(1), true,
                null, null, null, RedisLinkTest.LONG, RedisLinkTest.LONG, 10_000, 8);
        try (RedisLink link = RedisLink.open(properties)) {
            await("connected", link::isConnected);
            assertThat(link.isCluster()).isTrue();
            await("all shards answering", () -> allAnswer(link));
            for (int i = 0; i < RedisLayout.DEFAULT_STREAM_COUNT; i++) {
                String stream = RedisLayout.stream(i);
                link.commands().xadd(stream, Map.of(RedisLayout.BATCH_FIELD, RedisLinkTest.bytes("x" + i)));
                try (BlockingReads reads = link.openReads(Duration.ofMillis(500))) {
                    assertThat(read(reads, stream).getFirst().getBody().get("b")).asString().isEqualTo("x" + i);
                }
            }
            assertThat(link.commands().hset(RedisLayout.WORKERS, "w", RedisLinkTest.bytes("1"))).isTrue();
        }
    }

    /** Nodes' connections have a timeout of their own, and it is shorter than this read. */
    @Test
    @SuppressWarnings("unchecked")                                 // an array of a generic type, by Lettuce
    void a_read_may_wait_at_the_server_for_longer_than_commands_may_take() {
        var properties = new RedisProperties("redis://127.0.0.1:" + cluster.serverPorts().getFirst(), true, null, null,
                null, RedisLinkTest.LONG, RedisLinkTest.SHORT, 10_000, 8);
        try (RedisLink link = RedisLink.forReads(properties);
                BlockingReads reads = patiently(() -> link.openReads(RedisLinkTest.BLOCK))) {
            assertThat(patiently(() -> reads.commands().xread(XReadArgs.Builder.block(RedisLinkTest.BLOCK),
                    XReadArgs.StreamOffset.from(RedisLayout.stream(0), "9999999999999-0")))).isEmpty();
        }
    }

    @Test
    void the_documented_permissions_suffice_to_find_the_shards() {
        for (int port : cluster.serverPorts()) {
            try (RedisClient node = RedisClient.create("redis://127.0.0.1:" + port)) {
                node.connect().sync().aclSetuser("anna", AclSetuserArgs.Builder.on().addPassword("hush")
                        .keyPattern("warmpath:*").addCategory(AclCategory.CONNECTION).addCommand(CommandType.XADD)
                        .addCommand(CommandType.DEL).addCommand(CommandType.CLUSTER).addCommand(CommandType.INFO));
            }
        }
        var properties = new RedisProperties("redis://127.0.0.1:" + cluster.serverPorts().getFirst(), true, "anna",
                "hush", null, RedisLinkTest.LONG, RedisLinkTest.LONG, 10_000, 8);
        try (RedisLink link = RedisLink.open(properties)) {
            await("connected", link::isConnected);
            await("all shards answering", () -> allAnswer(link));
        }
    }

    /** Each node says that the cluster is down until it has heard of all slots. */
    private static boolean allAnswer(RedisLink link) {
        try {
            for (int i = 0; i < RedisLayout.DEFAULT_STREAM_COUNT; i++) {
                link.commands().del(RedisLayout.stream(i));
            }
            return true;
        } catch (RedisException e) {
            return false;
        }
    }

    @SuppressWarnings("unchecked")                                 // an array of a generic type, by Lettuce
    private static List<StreamMessage<String, byte[]>> read(BlockingReads reads, String stream) {
        return reads.commands().xread(XReadArgs.Builder.block(500), XReadArgs.StreamOffset.from(stream, "0-0"));
    }
}
