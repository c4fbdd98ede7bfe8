package dev.warmpath.cli.bench;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A server of completions that costs next to nothing, to measure what {@code warmpath bench} itself takes: each answer
 * is there as soon as its request has been read, all tokens at once, or with so many milliseconds between them.
 *
 * <pre>
 * cd cli/target
 * java -cp 'test-classes:classes:lib/*' dev.warmpath.cli.bench.InstantServer 18123 64 0
 * time ./warmpath bench --url http://127.0.0.1:18123 --concurrency 8 --requests 20000 --load random --scale 0.1
 * </pre>
 */
final class InstantServer {

    private static final String LENGTH = "content-length:";

    private final byte[] models = answer("application/json",
            "{\"data\":[{\"id\":\"instant\",\"max_model_len\":100000}]}");
    private final byte[] tokens;
    private final List<byte[]> completion;
    private final long pauseMillis;

    private InstantServer(int tokenCount, long pauseMillis) {
        this.pauseMillis = pauseMillis;
        var ids = new StringBuilder("{\"tokens\":[0");
        for (int i = 1; i < 100; i++) {
            ids.append(',').append(i);
        }
        tokens = answer("application/json", ids + "]}");
        List<String> events = new ArrayList<>();
        for (int i = 0; i < tokenCount; i++) {
            events.add(ScriptedServer.chunk(" word", i));
        }
        events.add(ScriptedServer.finish(100, 50, tokenCount));
        byte[] whole = answer("text/event-stream", String.join("", events));
        completion = new ArrayList<>();
        int head = whole.length - String.join("", events).length();
        for (int i = 0, from = 0, to = head; i < events.size(); i++, from = to) {
            to += events.get(i).length();
            completion.add(Arrays.copyOfRange(whole, from, to));
        }
        if (pauseMillis == 0) {
            completion.clear();
            completion.add(whole);
        }
    }

    /** @param arguments port, tokens of each answer, and milliseconds from one to the next */
    public static void main(String[] arguments) throws IOException {
        var server = new InstantServer(Integer.parseInt(arguments[1]), Long.parseLong(arguments[2]));
        try (var socket = new ServerSocket(Integer.parseInt(arguments[0]), 1_024, InetAddress.getLoopbackAddress())) {
            while (true) {
                Socket client = socket.accept();
                client.setTcpNoDelay(true);
                Thread.startVirtualThread(() -> server.serve(client));
            }
        }
    }

    private static byte[] answer(String type, String body) {
        return ("HTTP/1.1 200 OK\r\ncontent-type: " + type + "\r\ncontent-length: "
                + body.getBytes(StandardCharsets.UTF_8).length + "\r\n\r\n" + body).getBytes(StandardCharsets.UTF_8);
    }

    private void serve(Socket client) {
        try (client) {
            var in = new BufferedInputStream(client.getInputStream(), 64 << 10);
            for (String first = line(in); !first.isEmpty(); first = line(in)) {
                int length = 0;
                for (String header = line(in); !header.isEmpty(); header = line(in)) {
                    if (header.toLowerCase(Locale.ROOT).startsWith(LENGTH)) {
                        length = Integer.parseInt(header.substring(LENGTH.length()).strip());
                    }
                }
                in.skipNBytes(length);
                if (first.contains("/completions")) {
                    for (int i = 0; i < completion.size(); i++) {
                        Thread.sleep(i == 0 ? 0 : pauseMillis);
                        client.getOutputStream().write(completion.get(i));
                    }
                } else {
                    client.getOutputStream().write(first.contains("/tokenize") ? tokens : models);
                }
            }
        } catch (IOException | InterruptedException e) {
            // the client has gone
        }
    }

    /** Empty at the end, too. */
    private static String line(InputStream in) throws IOException {
        var line = new StringBuilder();
        for (int next = in.read(); next >= 0 && next != '\n'; next = in.read()) {
            if (next != '\r') {
                line.append((char) next);
            }
        }
        return line.toString();
    }
}
