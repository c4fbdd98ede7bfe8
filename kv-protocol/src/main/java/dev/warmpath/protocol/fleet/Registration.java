package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
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
 * @param hostBlockCount  blocks that it may announce besides, of a tier behind its pool; 0 = none, also where a sender
 *                        does not know this field
 * @param eventStreams    streams in Redis over which it takes the fleet's workers to be spread; 0 = it writes to none
 *                        or does not know this field
 * @param packedPrompts   true: it takes a {@link dev.warmpath.protocol.generate.PackedRequest}; false, also where a
 *                        sender does not know this field: it takes JSON only
 * @param logitRules      true: it follows {@link dev.warmpath.protocol.generate.LogitRules} and draws no end token before
 *                        the least number of tokens; false, also where a sender does not know this field: it would
 *                        pass over both
 */
public record Registration(
        int protocolVersion,
        String workerId,
        long epoch,
        URI baseUrl,
        ModelDescription model,
        int blockCount,
        int maxSequences,
        boolean prefixClosed,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) int hostBlockCount,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) int eventStreams,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean packedPrompts,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean logitRules) {

    /** Of a worker that announces its pool alone, and nothing in Redis. */
    public Registration(int protocolVersion, String workerId, long epoch, URI baseUrl, ModelDescription model,
            int blockCount, int maxSequences, boolean prefixClosed) {
        this(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences, prefixClosed,
                /* hostBlockCount */ 0, /* eventStreams */ 0);
    }

    /** Of a worker that takes JSON only. */
    public Registration(int protocolVersion, String workerId, long epoch, URI baseUrl, ModelDescription model,
            int blockCount, int maxSequences, boolean prefixClosed, int hostBlockCount, int eventStreams) {
        this(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences, prefixClosed, hostBlockCount,
                eventStreams, /* packedPrompts */ false, /* logitRules */ false);
    }

    /** The same, of a worker that takes packed prompts. */
    public Registration withPackedPrompts() {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, eventStreams, /* packedPrompts */ true, logitRules);
    }

    /** The same, of a worker that follows rules for logits. */
    public Registration withLogitRules() {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, eventStreams, packedPrompts, /* logitRules */ true);
    }

    /** The same, of a worker that writes to one of so many streams in Redis. */
    public Registration withEventStreams(int count) {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, count, packedPrompts, logitRules);
    }

    /** Most keys that it may announce at a time: each block of each tier has another one. */
    public long mostKeys() {
        return (long) blockCount + hostBlockCount;
    }
}
