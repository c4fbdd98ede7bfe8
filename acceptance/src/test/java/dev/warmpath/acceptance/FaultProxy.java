package dev.warmpath.acceptance;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A TCP proxy on loopback that passes everything on until it is told to misbehave: {@link #delay}, {@link #halfOpen},
 * {@link #reset}, {@link #cut}; {@link #heal} ends the trouble. One virtual thread reads and one writes per direction
 * of a connection, so that a delay moves bytes in time and does not thin them out.
 */
final class FaultProxy implements AutoCloseable {

    private static final int CHUNK_BYTES = 16 << 10;
    /** Per direction; a sender is held up beyond, as by any full window. */
    private static final int MAX_CHUNKS_UNDER_WAY = 1024;
    private static final Duration GATE_POLL = Duration.ofMillis(5);

    private final InetSocketAddress target;
    private final int port;
    private final Set<Link> links = ConcurrentHashMap.newKeySet();
    private volatile ServerSocket listener;
    private volatile Thread acceptor;
    private volatile long delayNanos;
    private volatile boolean silent;
    private volatile boolean closed;

    /** Opens a port of its own for a server on loopback, there or not. */
    FaultProxy(int targetPort) {
        this.target = new InetSocketAddress(InetAddress.getLoopbackAddress(), targetPort);
        this.port = LocalFleet.freePort();
        this.listener = listen();
    }

    int port() {
        return port;
    }

    /** Everything takes so much longer, in either direction. */
    void delay(Duration each) {
        delayNanos = each.toNanos();
    }

    /** Connections stay and new ones are taken, but nothing gets through, not even that one side has closed. */
    void halfOpen() {
        silent = true;
    }

    /** Ends the connections that there are by RST. New ones are served. */
    void reset() {
        links.forEach(Link::reset);
    }

    /** Ends the connections that there are, and refuses new ones. */
    void cut() {
        closeListener();
        links.forEach(Link::close);
    }

    /** Passes everything on again, what was held back included. */
    void heal() {
        delayNanos = 0;
        silent = false;
        if (listener.isClosed() && !closed) {
            listener = listen();
        }
    }

    @Override
    public void close() {
        closed = true;
        cut();
    }

    private ServerSocket listen() {
        try {
            var socket = new ServerSocket(port, /* backlog */ 64, InetAddress.getLoopbackAddress());
            acceptor = Thread.ofVirtual().name("fault-proxy-" + port).start(() -> accept(socket));
            return socket;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The port refuses only once the accepting thread has let go of it: until then the kernel completes handshakes. */
    private void closeListener() {
        try {
            listener.close();
            acceptor.join();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void accept(ServerSocket socket) {
        while (!socket.isClosed()) {
            try {
                Socket client = socket.accept();
                Thread.startVirtualThread(() -> connect(client, socket));
            } catch (IOException e) {
                return;                                    // cut or closed
            }
        }
    }

    private void connect(Socket client, ServerSocket acceptedBy) {
        var server = new Socket();
        var link = new Link(client, server);
        links.add(link);
        try {
            awaitOpen(link);
            server.connect(target);
            link.start();
        } catch (IOException e) {
            link.close();
        }
        if (acceptedBy.isClosed()) {
            link.close();                                  // cut in between
        }
    }

    private void awaitOpen(Link link) {
        while (silent && !link.closed) {
            LockSupport.parkNanos(GATE_POLL.toNanos());
        }
    }

    /** Bytes with the moment at which they may arrive; no bytes: the sender has closed. */
    private record Chunk(byte[] bytes, long readNanos) {}

    private final class Link {

        private final Socket client;
        private final Socket server;
        private volatile boolean closed;

        Link(Socket client, Socket server) {
            this.client = client;
            this.server = server;
        }

        void start() {
            pump(client, server);
            pump(server, client);
        }

        private void pump(Socket from, Socket to) {
            BlockingQueue<Chunk> underWay = new ArrayBlockingQueue<>(MAX_CHUNKS_UNDER_WAY);
            Thread.startVirtualThread(() -> read(from, underWay));
            Thread.startVirtualThread(() -> write(underWay, to));
        }

        private void read(Socket from, BlockingQueue<Chunk> underWay) {
            byte[] buffer = new byte[CHUNK_BYTES];
            try {
                int count = 1;
                while (count > 0) {
                    try {
                        count = Math.max(0, from.getInputStream().read(buffer));
                    } catch (IOException e) {
                        count = 0;
                    }
                    var chunk = new Chunk(Arrays.copyOf(buffer, count), System.nanoTime());
                    while (!underWay.offer(chunk, 100, TimeUnit.MILLISECONDS)) {
                        if (closed) {
                            return;
                        }
                    }
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        private void write(BlockingQueue<Chunk> underWay, Socket to) {
            try {
                while (!closed) {
                    Chunk chunk = underWay.poll(100, TimeUnit.MILLISECONDS);
                    if (chunk == null) {
                        continue;
                    }
                    LockSupport.parkNanos(chunk.readNanos() + delayNanos - System.nanoTime());
                    awaitOpen(this);
                    if (chunk.bytes().length == 0) {
                        close();
                        return;
                    }
                    to.getOutputStream().write(chunk.bytes());
                }
            } catch (IOException e) {
                close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }

        void reset() {
            try {
                client.setSoLinger(true, 0);
                server.setSoLinger(true, 0);
            } catch (IOException e) {
                // closed already
            }
            close();
        }

        void close() {
            closed = true;
            links.remove(this);
            for (Socket socket : new Socket[] {client, server}) {
                try {
                    socket.close();
                } catch (IOException e) {
                    // it is of no use any more either way
                }
            }
        }
    }
}
