package dev.warmpath.protocol.fleet;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import java.net.URI;
import java.util.List;
import java.util.Set;

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
 * @param abilities       {@link Ability#text}s, at most {@link #MAX_ABILITIES}; unknown ones are passed over, and none
 *                        also where a sender does not know this field
 * @param assumed         true: it announces what it was sent, for what computes there tells nothing of its cache;
 *                        false, also where a sender does not know this field: it announces what is held
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
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> abilities,
        @JsonSetter(nulls = Nulls.AS_EMPTY) @JsonInclude(JsonInclude.Include.NON_DEFAULT) boolean assumed) {

    public static final int MAX_ABILITIES = 64;

    public Registration {
        if (abilities.size() > MAX_ABILITIES) {
            throw new IllegalArgumentException(
                    abilities.size() + " abilities, at most " + MAX_ABILITIES + " are told");
        }
        abilities = List.copyOf(abilities);
    }

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
                eventStreams, /* packedPrompts */ false, List.of(), /* assumed */ false);
    }

    /** The same, of a worker that takes packed prompts. */
    public Registration withPackedPrompts() {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, eventStreams, /* packedPrompts */ true, abilities, assumed);
    }

    /** The same, of a worker that can so much. */
    public Registration withAbilities(Set<Ability> all) {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, eventStreams, packedPrompts,
                all.stream().map(Ability::text).sorted().toList(), assumed);
    }

    /** The same, of a worker that writes to one of so many streams in Redis. */
    public Registration withEventStreams(int count) {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, count, packedPrompts, abilities, assumed);
    }

    /** The same, of a worker that announces what it was sent, if so. */
    public Registration withAssumed(boolean isAssumed) {
        return new Registration(protocolVersion, workerId, epoch, baseUrl, model, blockCount, maxSequences,
                prefixClosed, hostBlockCount, eventStreams, packedPrompts, abilities, isAssumed);
    }

    /** Most keys that it may announce at a time: each block of each tier has another one. */
    public long mostKeys() {
        return (long) blockCount + hostBlockCount;
    }
}
