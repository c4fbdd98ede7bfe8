package dev.warmpath.redislink;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Speaks Redis's protocol, and answers each command with what a test wants. */
public final class LyingRedis implements AutoCloseable {

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Answer answer;

    /** What is said to one command; of one connection in order. */
    public interface Answer {
        void to(List<String> command, OutputStream out) throws IOException;
    }

    public LyingRedis(Answer answer) throws IOException {
        this.answer = answer;
        Thread.ofVirtual().start(this::accept);
    }

    public String uri() {
        return "redis://127.0.0.1:" + server.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = server.accept();
                Thread.ofVirtual().start(() -> serve(socket));
            }
        } catch (IOException e) {
            // closed
        }
    }

    private void serve(Socket socket) {
        try (socket) {
            var in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            while (true) {
                List<String> command = new ArrayList<>();
                for (int left = number(in); left > 0; left--) {
                    byte[] word = new byte[number(in)];
                    in.readFully(word);
                    in.skipNBytes(2);
                    command.add(new String(word, StandardCharsets.UTF_8));
                }
                answer.to(command, socket.getOutputStream());
            }
        } catch (IOException e) {
            // its client is gone
        }
    }

    /** Of a line like {@code *3} or {@code $12}. */
    private static int number(DataInputStream in) throws IOException {
        in.readByte();
        int number = 0;
        for (byte next = in.readByte(); next != '\r'; next = in.readByte()) {
            number = 10 * number + next - '0';
        }
        in.skipNBytes(1);
        return number;
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
