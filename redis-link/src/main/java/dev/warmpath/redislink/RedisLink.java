package dev.warmpath.redislink;

import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.process.ForeignText;
import dev.warmpath.protocol.process.ProcessEnd;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.SslOptions;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.DefaultClientResources;
import io.lettuce.core.resource.Delay;
import io.lettuce.core.resource.NettyCustomizer;
import io.netty.channel.Channel;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One process's way to Redis: connects when the server appears, connects again when it was lost, and lets nobody wait
 * meanwhile.
 *
 * <p>Lettuce by default keeps commands while disconnected, without bound, and sends them again after a reconnect, so
 * that an entry may stand in a stream twice or long after it was true. Here a command is refused at once while
 * disconnected, given up after a second, and never sent again: who wrote it writes a checkpoint instead.
 */
public final class RedisLink implements AutoCloseable {

    private static final Logger log = LoggerFactory.getLogger(RedisLink.class);
    private static final RedisCodec<String, byte[]> CODEC = RedisCodec.of(StringCodec.UTF8, ByteArrayCodec.INSTANCE);
    /** Commands without an answer yet; one more is refused. */
    private static final int MAX_QUEUED_COMMANDS = 10_000;
    /** Of the server's words and the system's in a message. */
    private static final int MAX_DETAIL_CHARS = 300;
    private static final long LARGEST_ANSWER_BYTES = 256 << 20;
    /** A quarter of a million blocks in a checkpoint, twice. */
    private static final long SMALLEST_BOUND_BYTES = 4 << 20;
    private static final int ANSWER_PART_OF_HEAP = 8;
    private static final Duration SHORTEST_PAUSE = Duration.ofMillis(100);
    private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);
    /** Moved slots and lost nodes make Lettuce look at once; this is for the rest. */
    private static final Duration TOPOLOGY_REFRESH = Duration.ofSeconds(30);
    private static final int LIBRARY_THREADS = 2;
    /** Beyond the command timeout, for threads that only have to be scheduled. */
    private static final Duration LIBRARY_FAREWELL = Duration.ofSeconds(1);
    private static final Pattern SYSTEM_CALL = Pattern.compile("^\\w+\\(\\.\\.\\) failed( with error\\(-?\\d+\\))?: ");

    private final RedisProperties properties;
    private final long maxAnswerBytes;
    private final ClientResources resources;
    private final AbstractRedisClient client;
    private @Nullable Thread connector;
    private volatile @Nullable RedisConnection connection;
    private volatile @Nullable String problem = "not connected yet";
    private volatile boolean closed;
    /** That a read has been opened for. */
    private volatile Duration longestBlock = Duration.ZERO;
    /** By own wish, again and again perhaps: no news as long as it works. */
    private volatile boolean reconnecting;

    private RedisLink(RedisProperties properties, long maxAnswerBytes) {
        this.properties = properties;
        this.maxAnswerBytes = maxAnswerBytes;
        this.resources = DefaultClientResources.builder()
                .ioThreadPoolSize(LIBRARY_THREADS)
                .computationThreadPoolSize(LIBRARY_THREADS)
                .reconnectDelay(() -> Delay.fullJitter(SHORTEST_PAUSE, LONGEST_PAUSE, SHORTEST_PAUSE.toMillis(),
                        TimeUnit.MILLISECONDS))
                .commandLatencyRecorder(CommandLatencyRecorder.disabled())
                .nettyCustomizer(new NettyCustomizer() {
                    @Override
                    public void afterChannelInitialized(Channel channel) {
                        AnswerBound.addTo(channel, maxAnswerBytes);
                    }
                })
                .build();
        this.client = properties.cluster() ? clusterClient(properties.servers()) : serverClient();
    }

    /**
     * Begins to connect, and returns at once whether there is a server or not.
     *
     * @param properties with a server: {@link RedisProperties#isSet}
     */
    public static RedisLink open(RedisProperties properties) {
        return open(properties, maxAnswerBytes(properties));
    }

    /** The same, with another bound for what comes in answer to one command. */
    static RedisLink open(RedisProperties properties, long maxAnswerBytes) {
        var link = new RedisLink(requireSet(properties), maxAnswerBytes);
        link.connectInBackground();
        return link;
    }

    /**
     * A share of the heap, for all readers together: in a cluster there is one for each event stream. And not more than
     * the checkpoint of the largest pool needs.
     */
    private static long maxAnswerBytes(RedisProperties properties) {
        long share = Runtime.getRuntime().maxMemory() / ANSWER_PART_OF_HEAP
                / (properties.cluster() ? properties.eventStreams() : 1);
        return Math.clamp(share, SMALLEST_BOUND_BYTES, LARGEST_ANSWER_BYTES);
    }

    /** What may come in answer to one command: then the connection is given up. */
    public long maxAnswerBytes() {
        return maxAnswerBytes;
    }

    private static RedisProperties requireSet(RedisProperties properties) {
        if (!properties.isSet()) {
            throw new IllegalArgumentException("warmpath.redis.uri is not set");
        }
        return properties;
    }

    /** As {@link #open}, without the shared connection: for who has {@link #openReads} only. */
    public static RedisLink forReads(RedisProperties properties) {
        return forReads(properties, maxAnswerBytes(properties));
    }

    /** The same, with another bound for what comes in answer to one command. */
    public static RedisLink forReads(RedisProperties properties, long maxAnswerBytes) {
        return new RedisLink(requireSet(properties), maxAnswerBytes);
    }

    public boolean isCluster() {
        return properties.cluster();
    }

    public boolean isConnected() {
        RedisConnection current = connection;
        return current != null && current.handle().isOpen();
    }

    /** Why there is no connection, as a sentence without credentials; null while there is one. */
    public @Nullable String problem() {
        return isConnected() ? null : problem == null ? "the connection to " + describe() + " is lost" : problem;
    }

    /**
     * Short commands on the shared connection, each given up after the command timeout.
     *
     * @throws io.lettuce.core.RedisException at once while disconnected, here or from the command: nothing is queued
     */
    public RedisClusterCommands<String, byte[]> commands() {
        return connected().sync();
    }

    /** The same without waiting for each answer: commands reach the server in the order of the calls. */
    public RedisClusterAsyncCommands<String, byte[]> async() {
        return connected().async();
    }

    /**
     * A connection of its own for reads that wait at the server, given up after that wait and the command timeout. The
     * caller closes it. Blocks while it connects.
     *
     * @param longest what the caller will pass as {@code BLOCK}
     * @throws io.lettuce.core.RedisException if it does not connect, with a sentence without credentials
     */
    public BlockingReads openReads(Duration longest) {
        RedisConnection own;
        longestBlock = longestBlock.compareTo(longest) < 0 ? longest : longestBlock;
        try {
            own = connect();
        } catch (RedisConnectionException e) {
            throw new RedisConnectionException("no Redis answers at " + describe() + " (" + messageOf(e) + ")", e);
        }
        own.handle().setTimeout(longest.plus(properties.commandTimeout()));
        return new BlockingReads(own);
    }

    /**
     * Gives the shared connection up and opens another, in the background. For a connection that gives no answers (half
     * open after a partition) or only refusals (its server is a replica now): neither would end by itself.
     */
    public synchronized void reconnect() {
        RedisConnection hopeless = connection;
        if (hopeless != null && !closed) {
            connection = null;
            problem = "connecting to " + describe() + " anew";
            reconnecting = true;
            hopeless.handle().closeAsync();
            connectInBackground();
        }
    }

    /** Host and port without credentials, for logs and health. */
    public String describe() {
        return properties.describe();
    }

    /** Waits a few command timeouts at most, whatever state connection and library are in. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            if (connector != null) {
                connector.interrupt();
            }
            connection = null;
            problem = "closed";
        }
        // a library thread that is stuck or dead never reports its end, whatever timeout it was given: waited for here
        long patienceMillis = LIBRARY_FAREWELL.plus(properties.commandTimeout()).toMillis();
        try {
            client.shutdownAsync(0, properties.commandTimeout().toMillis(), TimeUnit.MILLISECONDS)
                    .get(patienceMillis, TimeUnit.MILLISECONDS);
        } catch (TimeoutException | ExecutionException e) {
            log.warn("the connection to {} could not be closed: {}", describe(), e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        resources.shutdown(0, properties.commandTimeout().toMillis(), TimeUnit.MILLISECONDS)
                .awaitUninterruptibly(patienceMillis);
    }

    private RedisConnection connected() {
        RedisConnection current = connection;
        if (current == null) {
            throw new RedisConnectionException(String.valueOf(problem()));
        }
        return current;
    }

    private synchronized void connectInBackground() {
        if (!closed) {
            connector = Thread.ofVirtual().name("redis-connect").start(this::connectAgainAndAgain);
        }
    }

    private void connectAgainAndAgain() {
        // its own: the thread before may not have ended yet, though its connection is given up already
        var backoff = new Backoff(SHORTEST_PAUSE, LONGEST_PAUSE, RandomGenerator.getDefault());
        try {
            while (!closed && !tryToConnect()) {
                Thread.sleep(backoff.next());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();                    // closed
        }
    }

    private boolean tryToConnect() {
        RedisConnection fresh = null;
        try {
            fresh = connect();
            fresh.handle().addListener(new LossLog());
            if (!reconnecting) {
                log.info("connected to Redis at {}", describe());
            }
            reconnecting = false;
            problem = null;
            connection = fresh;
            return true;
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            if (fresh != null) {
                fresh.handle().closeAsync();
            }
            String trouble = "Redis at " + describe() + " cannot be used, trying again: " + messageOf(e);
            if (!trouble.equals(problem) && !Thread.currentThread().isInterrupted()) {
                log.warn(trouble);
            }
            problem = trouble;
            reconnecting = false;
            return false;
        }
    }

    private RedisConnection connect() {
        return switch (client) {
            case RedisClusterClient cluster -> RedisConnection.of(cluster.connect(CODEC));
            case RedisClient server -> RedisConnection.of(server.connect(CODEC));
            default -> throw new IllegalStateException("unknown client " + client);
        };
    }

    /**
     * How long a command may take. In a cluster each node's connection has the client's timeout, whatever the one is
     * set to that stands for all of them: a read that waits at the server has to be known by its name.
     */
    private final class Patience extends TimeoutOptions.TimeoutSource {
        @Override
        public long getTimeout(RedisCommand<?, ?, ?> command) {
            boolean waits = command.getType() == CommandType.XREAD;
            return properties.commandTimeout().plus(waits ? longestBlock : Duration.ZERO).toNanos();
        }

        @Override
        public TimeUnit getTimeUnit() {
            return TimeUnit.NANOSECONDS;
        }
    }

    /** Lettuce's own word on reconnects names every try, and not what is connected. */
    private final class LossLog implements RedisConnectionStateListener {
        private boolean lost;

        @Override
        public void onRedisDisconnected(RedisChannelHandler<?, ?> handle) {
            RedisConnection current = connection;
            if (current != null && current.handle() == handle && !lost) {
                lost = true;
                log.warn("Redis at {} is lost, trying to connect again", describe());
            }
        }

        @Override
        public void onRedisConnected(RedisChannelHandler<?, ?> handle, SocketAddress address) {
            if (lost) {
                lost = false;
                log.info("Redis at {} is there again", describe());
            }
        }
    }

    /**
     * What went wrong, for logs and views: one line of bounded length, without passwords. Lettuce wraps the server's own
     * word several times; a failed system call brings its name and number. A server, or a proxy before it, may repeat
     * what it does not understand, at any length, and with it a password.
     */
    public String messageOf(Throwable e) {
        Throwable root = e;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String message = root.getMessage() == null ? root.toString() : root.getMessage();
        // room for what is left out, so that half a password does not stay at the end
        boolean isLong = message.length() > 2 * MAX_DETAIL_CHARS;
        String safe = properties.withoutSecrets(isLong ? message.substring(0, 2 * MAX_DETAIL_CHARS) : message);
        return ForeignText.oneLine(SYSTEM_CALL.matcher(safe).replaceFirst(""), MAX_DETAIL_CHARS);
    }

    private RedisClient serverClient() {
        RedisClient server = RedisClient.create(resources, properties.servers().getFirst());
        server.setOptions(configure(ClientOptions.builder()).build());
        return server;
    }

    private RedisClusterClient clusterClient(List<RedisURI> seeds) {
        RedisClusterClient cluster = RedisClusterClient.create(resources, seeds);
        var options = ClusterClientOptions.builder();
        options.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(TOPOLOGY_REFRESH).build());
        configure(options);
        cluster.setOptions(options.build());
        return cluster;
    }

    private ClientOptions.Builder configure(ClientOptions.Builder options) {
        options.autoReconnect(true)
                .disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                .requestQueueSize(MAX_QUEUED_COMMANDS)
                .replayFilter(_ -> true)                           // those that pass the filter are dropped: all
                .pingBeforeActivateConnection(true)
                .timeoutOptions(TimeoutOptions.builder().timeoutCommands(true).timeoutSource(new Patience()).build())
                // announcements of a hosted Redis about its own maintenance: a command that stock servers do not know
                .maintNotificationsConfig(MaintNotificationsConfig.disabled())
                .socketOptions(SocketOptions.builder()
                        .connectTimeout(properties.connectTimeout()).keepAlive(true).build());
        if (properties.caCertificate() != null) {
            options.sslOptions(SslOptions.builder().jdkSslProvider()
                    .trustManager(properties.caCertificate().toFile()).build());
        }
        return options;
    }
}
