package dev.warmpath.protocol.fleet;

import java.net.URI;

/**
 * A worker's introduction, sent to every router before the first heartbeat and again whenever a router does not know
 * it.
 *
 * @param protocolVersion {@link Protocol#VERSION} of the sender
 * @param workerId        place in the fleet, 1 to 256 bytes of UTF-8
 * @param epoch           which life of that worker: {@link Epoch}
 * @param baseUrl         where routers reach it
 * @param model           what it serves
 * @param blockCount      blocks of its pool that can hold tokens
 * @param maxSequences    most requests that it computes at the same time
 * @param prefixClosed    true: a key is announced only while all its ancestors are (D9), so an index may jump
 */
public record Registration(
        int protocolVersion,
        String workerId,
        long epoch,
        URI baseUrl,
        ModelDescription model,
        int blockCount,
        int maxSequences,
        boolean prefixClosed) {}
