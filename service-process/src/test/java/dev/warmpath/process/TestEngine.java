package dev.warmpath.process;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * A foreign engine's HTTP server, as a test writes it: answers are bytes on the connection, captured ones or made up,
 * with whatever fault. A path without an answer is 404, as of FastAPI.
 */
public final class TestEngine implements AutoCloseable {

    private final ServerSocket server;
    private final Map<String, Deque<Answer>> answers = new HashMap<>();
    private final List<Request> requests = new ArrayList<>();
    private final Set<Socket> open = new HashSet<>();
    private int connections;

    private TestEngine(ServerSocket server) {
        this.server = server;
    }

    public static TestEngine start() {
        return start(/* any port */ 0);
    }

    public static TestEngine start(int port) {
        try {
            var engine = new TestEngine(new ServerSocket(port, 64, InetAddress.getLoopbackAddress()));
            Thread.ofVirtual().start(engine::accept);
            return engine;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * @param connection counts up from 1
     * @param headers    names in lower case
     */
    public record Request(int connection, String method, String path, Map<String, String> headers, String body) {}

    /** Writes one answer. The connection goes on behind it, unless it was closed. */
    public interface Answer {
        void write(Exchange exchange) throws IOException;
    }

    /** One request and its connection. */
    public static final class Exchange {

        private final Request request;
        private final InputStream in;
        private final OutputStream out;
        private final Socket socket;

        private Exchange(Request request, InputStream in, Socket socket) throws IOException {
            this.request = request;
            this.in = in;
            this.out = socket.getOutputStream();
            this.socket = socket;
        }

        public Request request() {
            return request;
        }

        public void bytes(byte[] some) throws IOException {
            out.write(some);
            out.flush();
        }

        /** Of a stream: its head. */
        public void begin() throws IOException {
            bytes(ascii("HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
                    + "transfer-encoding: chunked\r\n\r\n"));
        }

        /** One event, in a chunk of its own. */
        public void data(String json) throws IOException {
            chunk("data: " + json + "\n\n");
        }

        /** In one piece on the network, as uvicorn sends it. */
        public void chunk(String text) throws IOException {
            int length = text.getBytes(StandardCharsets.UTF_8).length;
            bytes((Integer.toHexString(length) + "\r\n" + text + "\r\n").getBytes(StandardCharsets.UTF_8));
        }

        /** The end of a stream, as HTTP has it. */
        public void end() throws IOException {
            bytes(ascii("0\r\n\r\n"));
        }

        public void hangUp() throws IOException {
            socket.close();
        }

        /** Returns when the client has closed the connection. @return false if it sent something more */
        public boolean awaitHangUp() {
            try {
                return in.read() < 0;
            } catch (IOException e) {
                return true;                                           // reset
            }
        }
    }

    /** What a capture has, headers and all; the connection is closed behind it, as its own header says. */
    public static Answer captured(byte[] raw) {
        return exchange -> {
            exchange.bytes(raw);
            exchange.hangUp();
        };
    }

    public static Answer json(int status, String body) {
        byte[] content = body.getBytes(StandardCharsets.UTF_8);
        return exchange -> {
            exchange.bytes(ascii("HTTP/1.1 " + status + " Status\r\nserver: uvicorn\r\ncontent-length: "
                    + content.length + "\r\ncontent-type: application/json\r\n\r\n"));
            exchange.bytes(content);
        };
    }

    /** A stream of events, and its end. */
    public static Answer stream(String... data) {
        return stream(List.of(data));
    }

    public static Answer stream(List<String> data) {
        return exchange -> {
            exchange.begin();
            for (String each : data) {
                exchange.data(each);
            }
            exchange.end();
        };
    }

    /** @param path without a query. The answers are given in turn, the last of them for ever */
    public synchronized TestEngine answer(String path, Answer... inTurn) {
        answers.put(path, new ArrayDeque<>(Arrays.asList(inTurn)));
        return this;
    }

    private synchronized Answer next(String path) {
        Deque<Answer> left = answers.get(path);
        if (left == null) {
            return json(404, "{\"detail\":\"Not Found\"}");
        }
        return left.size() > 1 ? left.removeFirst() : left.getFirst();
    }

    public URI address() {
        return URI.create("http://127.0.0.1:" + server.getLocalPort());
    }

    public int port() {
        return server.getLocalPort();
    }

    /** Those that came for a path, in order. */
    public synchronized List<Request> requests(String path) {
        return requests.stream().filter(request -> request.path().equals(path)).toList();
    }

    private void accept() {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                socket.setTcpNoDelay(true);
                int number = opened(socket);
                Thread.ofVirtual().start(() -> serve(socket, number));
            } catch (IOException e) {
                return;                                                // closed
            }
        }
    }

    private synchronized int opened(Socket socket) throws IOException {
        if (server.isClosed()) {                                       // while this one was on its way in
            socket.close();
            throw new IOException("closed");
        }
        open.add(socket);
        return ++connections;
    }

    private void serve(Socket socket, int number) {
        try (socket) {
            var in = new BufferedInputStream(socket.getInputStream());
            Request request = read(in, number);
            while (request != null) {
                synchronized (this) {
                    requests.add(request);
                }
                next(request.path()).write(new Exchange(request, in, socket));
                request = socket.isClosed() ? null : read(in, number);
            }
        } catch (IOException e) {
            // the client has gone, or the test has ended
        }
    }

    /** @return null if there is none any more */
    private static Request read(InputStream in, int connection) throws IOException {
        String first = line(in);
        if (first.isEmpty()) {
            return null;
        }
        String[] words = first.split(" ");
        if (words.length < 3) {
            return null;                                               // somebody who does not speak HTTP
        }
        Map<String, String> headers = new HashMap<>();
        for (String line = line(in); !line.isEmpty(); line = line(in)) {
            int colon = line.indexOf(':');
            headers.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
        }
        byte[] body = in.readNBytes(Integer.parseInt(headers.getOrDefault("content-length", "0")));
        return new Request(connection, words[0], words[1].replaceFirst("\\?.*", ""), headers,
                new String(body, StandardCharsets.UTF_8));
    }

    private static String line(InputStream in) throws IOException {
        var line = new StringBuilder();
        for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
            line.append((char) next);
        }
        return line.toString().stripTrailing();
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    /** As if its process was killed: nobody is answered any more, and nobody is taken. */
    @Override
    public synchronized void close() {
        try {
            server.close();
            for (Socket each : open) {
                each.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
