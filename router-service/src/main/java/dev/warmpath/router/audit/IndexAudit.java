package dev.warmpath.router.audit;

import dev.warmpath.protocol.event.EventFormatException;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.KvEventCodec;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.redis.Checkpoint;
import dev.warmpath.protocol.redis.RedisLayout;
import dev.warmpath.protocol.redis.StreamId;
import dev.warmpath.router.audit.IndexReport.CheckpointReport;
import dev.warmpath.router.audit.IndexReport.StreamReport;
import dev.warmpath.router.audit.IndexReport.WorkerReport;
import dev.warmpath.router.fleetlink.log.RedisContents;
import dev.warmpath.router.prefix.ApplyOutcome;
import dev.warmpath.router.prefix.KvEventApplier;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.prefix.WorkerKeys;
import io.lettuce.core.StreamMessage;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * Builds the index from what lies in Redis as a starting router does, with the same applier, which verifies size and
 * digest after every batch; and reports what does not hold. Workers write meanwhile: a stream may be trimmed between
 * the look at a checkpoint and the look at what stands behind it. What does not hold is therefore looked at twice.
 */
final class IndexAudit {

    private static final int PAGE = 1_000;

    private final String server;
    private final RedisContents redis;
    private final int streamCount;
    private final FleetToken token;
    private final JsonMapper json = JsonMapper.builder().build();
    private final PrefixIndex index = new PrefixIndex();

    private IndexAudit(String server, RedisContents redis, int streamCount, FleetToken token) {
        this.server = server;
        this.redis = redis;
        this.streamCount = streamCount;
        this.token = token;
    }

    static IndexReport run(String server, RedisContents redis, int streamCount, FleetToken token) {
        IndexReport report = new IndexAudit(server, redis, streamCount, token).report();
        return report.holds() ? report : new IndexAudit(server, redis, streamCount, token).report();
    }

    /** One worker under audit. */
    private static final class Subject {
        final String id;
        final long epoch;
        final boolean alive;
        final List<String> problems = new ArrayList<>();
        final WorkerKeys keys;
        final KvEventApplier applier;
        @Nullable Checkpoint checkpoint;
        int checkpointBytes;
        long entriesSince;
        boolean outlived;

        Subject(String id, long epoch, boolean alive, WorkerKeys keys) {
            this.id = id;
            this.epoch = epoch;
            this.alive = alive;
            this.keys = keys;
            this.applier = new KvEventApplier(id, epoch, keys);
        }

        /** A worker that was found wrong once is not looked at again: all that follows would be wrong, too. */
        boolean isUsable() {
            return checkpoint != null && problems.isEmpty() && !outlived;
        }

        void apply(KvEventBatch batch) {
            switch (applier.apply(batch)) {
                case ApplyOutcome.Applied(var _), ApplyOutcome.Repeated(var _) -> { }
                case ApplyOutcome.Gap(long expected, long actual) -> gap(expected, actual);
                case ApplyOutcome.Drift drift -> problems.add("set and digest differ: " + drift);
                case ApplyOutcome.TooManyKeys tooMany -> problems.add("more keys than possible: " + tooMany);
                case ApplyOutcome.WrongSender stranger -> problems.add("is somebody else's: " + stranger);
            }
        }

        /** The stream goes on without a worker that has died, and loses what its last checkpoint needs. */
        private void gap(long expected, long actual) {
            if (alive) {
                problems.add("batch " + expected + " is not in its stream, batch " + actual + " is");
            } else {
                outlived = true;
            }
        }
    }

    private IndexReport report() {
        List<StreamId> ends = IntStream.range(0, streamCount).mapToObj(redis::end).toList();
        List<Subject> subjects = new ArrayList<>();
        redis.workers().forEach((id, epoch) -> subjects.add(subject(id, epoch)));
        List<StreamReport> streams = IntStream.range(0, ends.size())
                .mapToObj(stream -> readStream(stream, ends.get(stream), subjects)).toList();
        PrefixIndex.Stats stats = index.stats();
        return new IndexReport(server, stats.keys(), stats.entries(),
                subjects.stream().map(IndexAudit::report).toList(), streams);
    }

    private Subject subject(String id, long epoch) {
        String lease = redis.lease(id, epoch);
        var subject = new Subject(id, epoch, lease != null,
                index.add(KvEventCodec.MAX_KEYS_PER_CHANGE, /* prefixClosed */ false));
        if (lease != null) {
            checkLease(subject, token.open(lease));
        }
        readCheckpoint(subject);
        return subject;
    }

    private void checkLease(Subject subject, @Nullable String registration) {
        if (registration == null) {
            subject.problems.add("its lease is not sealed with the fleet token given here (WARMPATH_FLEET_TOKEN)");
            return;
        }
        try {
            int streams = json.readTree(registration).path("eventStreams").asInt(0);
            if (streams != 0 && streams != streamCount) {
                subject.problems.add("it writes to one of " + streams + " streams, " + streamCount
                        + " are looked at here: --warmpath.redis.event-streams=" + streams);
            }
        } catch (JacksonException e) {
            subject.problems.add("its lease is no registration: " + e.getOriginalMessage());
        }
    }

    private void readCheckpoint(Subject subject) {
        byte[] bytes = redis.checkpointBytes(subject.id);
        if (bytes == null) {
            if (subject.alive) {
                subject.problems.add("it has a lease, but no checkpoint");
            }
            return;
        }
        try {
            Checkpoint checkpoint = Checkpoint.decode(bytes);
            if (checkpoint.snapshot().epoch() != subject.epoch) {
                if (subject.alive) {
                    subject.problems.add("its checkpoint is of epoch " + checkpoint.snapshot().epoch());
                }
                return;
            }
            subject.checkpoint = checkpoint;
            subject.checkpointBytes = bytes.length;
            subject.apply(checkpoint.snapshot());
        } catch (EventFormatException e) {
            subject.problems.add("its checkpoint cannot be read: " + e.getMessage());
        }
    }

    /** @param end workers go on writing; what comes behind it is not looked at */
    private StreamReport readStream(int stream, StreamId end, List<Subject> all) {
        List<Subject> subjects = all.stream()
                .filter(subject -> subject.checkpoint != null
                        && RedisLayout.streamOf(subject.id, streamCount) == stream).toList();
        StreamId place = subjects.stream().map(IndexAudit::continuation).min(StreamId::compareTo).orElse(end);
        long read = 0;
        long unreadable = 0;
        while (place.compareTo(end) < 0) {
            List<StreamMessage<String, byte[]>> page = redis.entriesAfter(stream, place, PAGE);
            if (page.isEmpty()) {
                break;
            }
            for (StreamMessage<String, byte[]> entry : page) {
                place = StreamId.parse(entry.getId());
                read++;
                unreadable += apply(entry, place, subjects) ? 0 : 1;
            }
        }
        return new StreamReport(RedisLayout.stream(stream), end.toString(), read, unreadable);
    }

    private static StreamId continuation(Subject subject) {
        return subject.checkpoint == null ? StreamId.ZERO : StreamId.parse(subject.checkpoint.streamId());
    }

    /** @return false if it is no batch */
    private static boolean apply(StreamMessage<String, byte[]> entry, StreamId place, List<Subject> subjects) {
        Map<String, byte[]> body = entry.getBody();
        byte[] encoded = body == null ? null : body.get(RedisLayout.BATCH_FIELD);
        if (encoded == null) {
            return false;
        }
        try {
            KvEventBatch batch = KvEventCodec.decode(encoded);
            for (Subject subject : subjects) {
                if (continuation(subject).compareTo(place) < 0) {
                    subject.entriesSince++;
                }
                if (subject.isUsable() && batch.workerId().equals(subject.id) && batch.epoch() == subject.epoch) {
                    subject.apply(batch);
                }
            }
            return true;
        } catch (EventFormatException e) {
            return false;
        }
    }

    private static WorkerReport report(Subject subject) {
        Checkpoint checkpoint = subject.checkpoint;
        CheckpointReport found = checkpoint == null ? null : new CheckpointReport(checkpoint.snapshot().sequence(),
                checkpoint.snapshot().setSize(), subject.checkpointBytes, checkpoint.streamId(), subject.entriesSince);
        long sequence = subject.applier.position().sequence();
        return new WorkerReport(subject.id, subject.epoch, subject.alive,
                sequence == KvEventApplier.NO_SEQUENCE ? null : sequence, subject.keys.size(), found,
                List.copyOf(subject.problems));
    }
}
