package dev.warmpath.redislink;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;

/** A connection to one server or to a cluster: what both have in common is all that is used. */
record RedisConnection(
        StatefulConnection<String, byte[]> handle,
        RedisClusterCommands<String, byte[]> sync,
        RedisClusterAsyncCommands<String, byte[]> async) {

    static RedisConnection of(StatefulRedisConnection<String, byte[]> server) {
        return new RedisConnection(server, server.sync(), server.async());
    }

    static RedisConnection of(StatefulRedisClusterConnection<String, byte[]> cluster) {
        return new RedisConnection(cluster, cluster.sync(), cluster.async());
    }
}
