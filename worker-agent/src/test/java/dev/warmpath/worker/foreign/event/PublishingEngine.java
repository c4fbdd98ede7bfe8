package dev.warmpath.worker.foreign.event;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;

/**
 * The sockets of an engine that publishes events, on loopback, by the rules of vLLM's: numbers from 0 in each life, a
 * buffer of the last batches behind a ROUTER socket, which a thread of its own serves. Used by one thread.
 */
public final class PublishingEngine implements AutoCloseable {

    private final byte[] topic;
    private final boolean answersHaveTopic;
    private volatile int bufferedBatches;
    private String endpoint = "tcp://127.0.0.1:*";
    private String replayEndpoint = "tcp://127.0.0.1:*";
    private ZContext context = new ZContext();
    private ZMQ.Socket publisher;
    private Thread replayThread;
    private final List<byte[]> batches = new ArrayList<>();
    private volatile int questions;
    private volatile boolean stopped;

    /** @param answersHaveTopic false before vLLM 0.26 */
    public PublishingEngine(int bufferedBatches, boolean answersHaveTopic) {
        this(bufferedBatches, answersHaveTopic, "kv@pod@model");
    }

    public PublishingEngine(int bufferedBatches, boolean answersHaveTopic, String topic) {
        this.topic = topic.getBytes(StandardCharsets.UTF_8);
        this.bufferedBatches = bufferedBatches;
        this.answersHaveTopic = answersHaveTopic;
        publisher = bind();
        replayThread = serveReplays();
    }

    public EventSource source() {
        return new EventSource(endpoint, replayEndpoint, "", EventSource.DEFAULT_REPLAY_PATIENCE);
    }

    String endpoint() {
        return endpoint;
    }

    int questions() {
        return questions;
    }

    /** Returns when somebody has subscribed since the last call or, if nobody had, since the start. */
    public void awaitSubscriber() {
        byte[] subscription = publisher.recv();
        if (subscription[0] != 1) {
            awaitSubscriber();                                              // somebody left
        }
    }

    public void publish(byte[] payload) {
        int sequence = keep(payload);
        send(topic, sequence(sequence), payload);
    }

    /** From now on no more are kept to be asked for. */
    public void keepOnly(int batchCount) {
        bufferedBatches = batchCount;
    }

    /** A batch of the full blocks of a prompt, in vLLM's encoding of 0.32. */
    public void publishStored(int[] prompt, int blockSize) {
        int blocks = prompt.length / blockSize;
        Map<String, Object> stored = new LinkedHashMap<>();
        stored.put("type", "BlockStored");
        stored.put("block_hashes", IntStream.range(0, blocks).mapToObj(i -> Arrays.hashCode(prompt) + (long) i)
                .toList());
        stored.put("parent_block_hash", null);
        stored.put("token_ids", Arrays.stream(prompt, 0, blocks * blockSize).boxed().toList());
        stored.put("block_size", blockSize);
        stored.put("medium", "GPU");
        publish(Packed.batch(batches.size(), stored));
    }

    /** A batch that gets lost on its way. */
    public void lose(byte[] payload) {
        keep(payload);
    }

    void send(byte[]... frames) {
        for (int i = 0; i < frames.length - 1; i++) {
            publisher.sendMore(frames[i]);
        }
        publisher.send(frames[frames.length - 1]);
    }

    /** Ends, and comes again at the same ports without any memory. */
    public void restart() {
        stop();
        synchronized (batches) {
            batches.clear();
        }
        context = new ZContext();
        publisher = bind();
        replayThread = serveReplays();
    }

    @Override
    public void close() {
        stop();
    }

    void stop() {
        stopped = true;
        context.close();
        try {
            replayThread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private int keep(byte[] payload) {
        synchronized (batches) {
            batches.add(payload);
            return batches.size() - 1;
        }
    }

    private ZMQ.Socket bind() {
        context.setLinger(0);
        ZMQ.Socket socket = context.createSocket(SocketType.XPUB);          // a PUB that tells who subscribes
        socket.setXpubVerbose(true);                                        // each of them
        socket.bind(endpoint);
        endpoint = socket.getLastEndpoint();
        return socket;
    }

    /** A socket is its thread's own: made there, closed there. */
    private Thread serveReplays() {
        var bound = new CompletableFuture<String>();
        stopped = false;
        Thread thread = Thread.ofPlatform().daemon().start(() -> {
            try (var own = new ZContext()) {
                own.setLinger(0);
                ZMQ.Socket router = own.createSocket(SocketType.ROUTER);
                router.setReceiveTimeOut(10);                               // vLLM looks every 100 ms
                router.bind(replayEndpoint);
                bound.complete(router.getLastEndpoint());
                while (!stopped) {
                    answer(router);
                }
            } catch (ZMQException e) {
                bound.completeExceptionally(e);
            }
        });
        replayEndpoint = bound.join();
        return thread;
    }

    private void answer(ZMQ.Socket router) {
        byte @Nullable [] asker = router.recv();
        if (asker == null) {
            return;
        }
        router.recv();
        byte[] first = router.recv();
        questions++;
        synchronized (batches) {
            long oldest = Math.max(ByteBuffer.wrap(first).getLong(), batches.size() - bufferedBatches);
            for (long i = oldest; i < batches.size(); i++) {
                reply(router, asker, topic, sequence(i), batches.get((int) i));
            }
        }
        reply(router, asker, new byte[0], sequence(-1), new byte[0]);
    }

    private void reply(ZMQ.Socket router, byte[] asker, byte[] topicFrame, byte[] sequence, byte[] payload) {
        router.sendMore(asker);
        router.sendMore(new byte[0]);
        if (answersHaveTopic) {
            router.sendMore(topicFrame);
        }
        router.sendMore(sequence);
        router.send(payload);
    }

    private static byte[] sequence(long sequence) {
        return ByteBuffer.allocate(Long.BYTES).putLong(sequence).array();
    }
}
