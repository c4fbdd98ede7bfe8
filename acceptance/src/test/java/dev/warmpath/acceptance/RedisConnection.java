package dev.warmpath.acceptance;

import java.io.BufferedReader;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A connection to Redis, or to whatever stands before it, for commands that a person would type. */
final class RedisConnection implements AutoCloseable {

    private final Socket socket;
    private final BufferedReader answers;

    RedisConnection(int port) throws IOException {
        this.socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout((int) Await.PATIENCE.toMillis());
        this.answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    /**
     * @param command words and spaces; Redis takes a line as well as its own protocol
     * @return the answer's first line, sign included: {@code +OK}, {@code :3}, {@code *2}, {@code -ERR …}
     */
    String ask(String command) throws IOException {
        send(command);
        return readLine();
    }

    void send(String command) throws IOException {
        socket.getOutputStream().write((command + "\r\n").getBytes(StandardCharsets.UTF_8));
    }

    String readLine() throws IOException {
        String line = answers.readLine();
        if (line == null) {
            throw new EOFException("the connection was closed");
        }
        return line;
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
