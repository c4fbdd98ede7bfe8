package dev.warmpath.redislink;

import io.lettuce.core.cluster.api.sync.RedisClusterCommands;

/** A connection of its own for reads that wait at the server: on the shared one they would hold up everybody else. */
public final class BlockingReads implements AutoCloseable {

    private final RedisConnection connection;

    BlockingReads(RedisConnection connection) {
        this.connection = connection;
    }

    /** For one thread. While disconnected they fail at once with a {@code RedisException}. */
    public RedisClusterCommands<String, byte[]> commands() {
        return connection.sync();
    }

    /** Breaks off a read that is waiting. */
    @Override
    public void close() {
        connection.handle().closeAsync();
    }
}
