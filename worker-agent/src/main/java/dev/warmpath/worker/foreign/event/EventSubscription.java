package dev.warmpath.worker.foreign.event;

import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.worker.engine.BlockChangeListener;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMonitor;

/**
 * Follows the events of one engine over ZeroMQ, on a thread of its own, which is also the one that the listener hears.
 *
 * <pre>
 * PUB    → SUB      topic | sequence (8 bytes, big-endian) | payload
 * ROUTER ← DEALER   empty | first sequence wanted (8 bytes, big-endian)
 * ROUTER → DEALER   empty | topic | sequence | payload          a message for each batch that it still has; the topic
 *                   empty | topic | ff × 8   | empty            is missing before vLLM 0.26, as captured from 0.20
 * </pre>
 * Whenever it is connected it begins with what the replay socket has, so that an agent that comes late knows what
 * there is, and one whose connection was broken what came meanwhile, or that the engine is another one. While it
 * waits for that, or for a gap to be filled, live messages stay in their socket: {@link #MAX_WAITING_MESSAGES} at
 * most; more wait with the engine, which drops what is too much, and that is a gap again. Each question has a socket
 * of its own, so that no late answer is taken for another's. ZeroMQ waits for an engine that is not there yet, or
 * goes and comes again; but after a message that it could not take it does not connect again, so that a new socket
 * has to.
 */
public final class EventSubscription implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(EventSubscription.class);
    private static final int MAX_WAITING_MESSAGES = 100;
    /** Then it is looked whether the end is wanted. */
    private static final int MAX_MESSAGES_AT_ONCE = 100;
    /** The longest message has four; of one with more the rest is dropped. */
    private static final int MAX_FRAMES = 5;
    private static final int MAX_RECONNECT_MILLIS = 1000;
    /** No connection for so long after there was one: a new socket is tried. */
    private static final Duration RENEWAL = Duration.ofSeconds(2);
    /**
     * JeroMQ 0.6.0 lets about one in fifty first connections of a context stand still in their handshake, to libzmq as
     * well, until this is over (by default 30 s); the next try goes through.
     */
    private static final int HANDSHAKE_MILLIS = 1000;
    /** A peer that has vanished without a word is noticed after two of these. */
    private static final int HEARTBEAT_MILLIS = 5000;

    private final EventSource source;
    private final EventFollower follower;
    private final EventConnection connection;
    private final ZContext context = new ZContext();
    private final ZMQ.Socket stopSender;
    private final ZMQ.Socket stopReceiver;
    private final Thread thread;
    private volatile EventCounts counts = EventCounts.NONE;
    private volatile boolean connected;
    private boolean closed;

    // below: the thread's own
    private ZMQ.Socket live;
    /** Tells when {@link #live} is connected and when it is not any more. */
    private ZMQ.Socket connections;
    private ZMQ.@Nullable Socket replay;
    private long replayDeadlineNanos;
    private boolean disconnected;
    private long renewalNanos;
    private boolean stopped;

    /**
     * Begins to follow.
     *
     * @param settings  what the fleet hashes with; only blocks of its size are announced
     * @param maxBlocks different blocks that the engine can hold
     * @param listener  hears how the announced set changes, on the subscription's thread; must not block
     * @throws IllegalArgumentException if the engine's host has no address
     */
    public EventSubscription(EventSource source, HashSettings settings, int maxBlocks, BlockChangeListener listener) {
        this.source = source;
        this.follower =
                new EventFollower(new EngineBlocks(settings, maxBlocks), listener, source.replayEndpoint() != null);
        this.connection = new EventConnection(source.endpoint(), EventConnection.PATIENCE, System.nanoTime());
        context.setLinger(0);
        stopSender = context.createSocket(SocketType.PAIR);
        stopReceiver = context.createSocket(SocketType.PAIR);
        stopSender.bind("inproc://stop");
        stopReceiver.connect("inproc://stop");
        live = socket(SocketType.SUB);
        connections = context.createSocket(SocketType.PAIR);
        try {
            connectLive();
        } catch (IllegalArgumentException e) {
            context.close();
            throw e;
        }
        thread = Thread.ofPlatform().daemon().name("engine-events " + source.endpoint()).unstarted(this::run);
        thread.start();
    }

    /** As of the last message. */
    public EventCounts counts() {
        return counts;
    }

    /** False once it was closed, or if the listener threw. */
    public boolean isAlive() {
        return thread.isAlive();
    }

    /** Whether somebody is there whose events can come. False at first, and until a lost connection is made anew. */
    public boolean isConnected() {
        return connected;
    }

    /** Ends the thread at once, and returns when it has: the listener hears nothing more, and may not call this. */
    @Override
    public synchronized void close() {
        if (!closed && thread.isAlive()) {
            try {
                stopSender.send(new byte[0]);
            } catch (ZMQException e) {
                LOG.debug("the thread has just ended by itself", e);
            }
        }
        closed = true;
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try (context) {
            while (!stopped) {
                awaitMessages();
                counts = follower.counts();
                connection.look(System.nanoTime());
                connected = connection.isThere();
            }
        } catch (RuntimeException e) {
            LOG.error("the events of {} are not followed any more", source.endpoint(), e);
        }
    }

    private void awaitMessages() {
        try (ZMQ.Poller poller = context.createPoller(3)) {
            poller.register(stopReceiver, ZMQ.Poller.POLLIN);
            poller.register(connections, ZMQ.Poller.POLLIN);
            poller.register(replay == null ? live : replay, ZMQ.Poller.POLLIN);
            poller.poll(millisUntilDeadline());
            stopped = poller.pollin(0);
        }
        if (stopped) {
            return;
        }
        ZMQ.@Nullable Socket answering = replay;
        if (answering == null) {
            readLive();
        } else {
            readReplay(answering);
        }
        readConnections();                                          // behind what the connection before has brought
    }

    private void readConnections() {
        @Nullable ZEvent event = ZEvent.recv(connections, ZMQ.DONTWAIT);
        while (event != null) {
            read(event.getEvent());
            event = ZEvent.recv(connections, ZMQ.DONTWAIT);
        }
        if (disconnected && renewalNanos - System.nanoTime() <= 0) {
            renewLive();
        }
    }

    private void read(ZMonitor.Event event) {
        switch (event) {
            case CONNECTED -> {
                disconnected = false;
                ask(follower.connected());
            }
            case HANDSHAKE_PROTOCOL -> connection.made();
            default -> {
                disconnected = true;
                renewalNanos = System.nanoTime() + RENEWAL.toNanos();
                connection.lost(System.nanoTime());
            }
        }
    }

    private void renewLive() {
        live.close();
        connections.close();
        live = socket(SocketType.SUB);
        connections = context.createSocket(SocketType.PAIR);
        renewalNanos = System.nanoTime() + RENEWAL.toNanos();
        try {
            connectLive();
        } catch (IllegalArgumentException e) {
            LOG.warn("the engine's events cannot be followed for now: {}", e.getMessage());
        }
    }

    private void connectLive() {
        String address = "inproc://connections-" + System.identityHashCode(live);
        live.monitor(address, ZMQ.EVENT_CONNECTED | ZMQ.EVENT_HANDSHAKE_PROTOCOL | ZMQ.EVENT_DISCONNECTED);
        connections.connect(address);
        live.subscribe(source.topic().getBytes(StandardCharsets.UTF_8));
        connect(live, source.endpoint());
    }

    private void readLive() {
        for (int i = 0; i < MAX_MESSAGES_AT_ONCE && replay == null; i++) {
            List<byte[]> frames = receive(live);
            if (frames.isEmpty()) {
                return;
            }
            if (frames.size() == 3 && frames.get(1).length == Long.BYTES) {
                ask(follower.live(ByteBuffer.wrap(frames.get(1)).getLong(), frames.get(2)));
            } else {
                follower.malformed();
            }
        }
    }

    private void readReplay(ZMQ.Socket answering) {
        for (int i = 0; i < MAX_MESSAGES_AT_ONCE && replay == answering; i++) {
            List<byte[]> frames = receive(answering);
            if (frames.isEmpty()) {
                if (replayDeadlineNanos - System.nanoTime() <= 0) {
                    LOG.warn("the replay socket {} does not answer", source.replayEndpoint());
                    follower.endRepair();
                    endReplay();
                }
                return;
            }
            replayDeadlineNanos = System.nanoTime() + source.replayPatience().toNanos();
            takeAnswer(frames);
        }
    }

    private void takeAnswer(List<byte[]> frames) {
        int count = frames.size();
        if (count < 3 || count > 4 || frames.get(count - 2).length != Long.BYTES) {
            follower.malformed();
            return;
        }
        ask(follower.replayed(ByteBuffer.wrap(frames.get(count - 2)).getLong(), frames.get(count - 1)));
        if (!follower.isRepairing()) {
            endReplay();
        }
    }

    private void ask(long firstSequence) {
        if (firstSequence == EventFollower.NOTHING || source.replayEndpoint() == null) {
            return;
        }
        endReplay();
        ZMQ.Socket asking = socket(SocketType.DEALER);
        try {
            connect(asking, source.replayEndpoint());
        } catch (IllegalArgumentException e) {
            LOG.warn("what is missing cannot be asked for: {}", e.getMessage());
            asking.close();
            follower.endRepair();
            return;
        }
        asking.sendMore(new byte[0]);
        asking.send(ByteBuffer.allocate(Long.BYTES).putLong(firstSequence).array());
        replay = asking;
        replayDeadlineNanos = System.nanoTime() + source.replayPatience().toNanos();
    }

    private void endReplay() {
        if (replay != null) {
            replay.close();
            replay = null;
        }
    }

    /** @return until something is to be done though nothing comes: 0 if that is now, -1 if there is nothing */
    private long millisUntilDeadline() {
        long now = System.nanoTime();
        long nanos = Math.min(connection.nanosUntilMissed(now), Math.min(
                replay == null ? Long.MAX_VALUE : replayDeadlineNanos - now,
                disconnected ? renewalNanos - now : Long.MAX_VALUE));
        if (nanos == Long.MAX_VALUE) {
            return -1;
        }
        return nanos <= 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
    }

    /** @return a message's first frames, or none if there is no message */
    private static List<byte[]> receive(ZMQ.Socket socket) {
        var frames = new ArrayList<byte[]>(4);
        byte @Nullable [] frame = socket.recv(ZMQ.DONTWAIT);
        while (frame != null) {
            if (frames.size() < MAX_FRAMES) {
                frames.add(frame);
            }
            frame = socket.hasReceiveMore() ? socket.recv() : null;
        }
        return frames;
    }

    private ZMQ.Socket socket(SocketType type) {
        ZMQ.Socket socket = context.createSocket(type);
        socket.setRcvHWM(MAX_WAITING_MESSAGES);
        socket.setMaxMsgSize(EngineEventDecoder.MAX_PAYLOAD_BYTES);
        socket.setReconnectIVLMax(MAX_RECONNECT_MILLIS);
        socket.setHandshakeIvl(HANDSHAKE_MILLIS);
        socket.setHeartbeatIvl(HEARTBEAT_MILLIS);
        return socket;
    }

    private static void connect(ZMQ.Socket socket, String endpoint) {
        socket.setIPv6(endpoint.contains("["));
        try {
            socket.connect(endpoint);
        } catch (ZMQException e) {
            throw new IllegalArgumentException("'" + endpoint + "' cannot be connected to: " + e.getMessage(), e);
        }
    }
}
