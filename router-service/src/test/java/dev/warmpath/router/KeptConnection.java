package dev.warmpath.router;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/**
 * One connection, and requests on it one after another. A library would open another one where this is closed, and
 * nobody would see it.
 */
public final class KeptConnection implements Closeable {

    private static final int PATIENCE_MILLIS = (int) Duration.ofMinutes(10).toMillis();
    private static final String LENGTH = "content-length";

    private final Socket socket;
    private final InputStream in;

    public KeptConnection(URI router) throws IOException {
        socket = new Socket(router.getHost(), router.getPort());
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(PATIENCE_MILLIS);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /** @param headers by name in lower case; of several with one name the last */
    public record Answer(int status, Map<String, String> headers, byte[] body) {

        /** @throws AssertionError if the body is not UTF-8 */
        public String text() {
            try {
                return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
            } catch (CharacterCodingException e) {
                throw new AssertionError("the body is not UTF-8: " + new String(body, StandardCharsets.UTF_8), e);
            }
        }
    }

    /** A body of JSON, whatever it is. */
    public Answer post(String path, byte[] body) throws IOException {
        return send("POST", path, "content-type: application/json\r\n", body);
    }

    /** @param headers each with its line's end; the body's length is added */
    public Answer send(String method, String path, String headers, byte[] body) throws IOException {
        return exchange(method + " " + path + " HTTP/1.1\r\nhost: r\r\n" + headers + LENGTH + ": " + body.length
                + "\r\n\r\n", body);
    }

    /** The same in chunks of so many bytes. */
    public Answer postInChunks(String path, byte[] body, int chunkBytes) throws IOException {
        var chunks = new ByteArrayOutputStream();
        for (int from = 0; from < body.length; from += chunkBytes) {
            int length = Math.min(chunkBytes, body.length - from);
            chunks.writeBytes(ascii(Integer.toHexString(length) + "\r\n"));
            chunks.write(body, from, length);
            chunks.writeBytes(ascii("\r\n"));
        }
        chunks.writeBytes(ascii("0\r\n\r\n"));
        return exchange("POST " + path + " HTTP/1.1\r\nhost: r\r\ncontent-type: application/json\r\n"
                + "transfer-encoding: chunked\r\n\r\n", chunks.toByteArray());
    }

    private Answer exchange(String head, byte[] body) throws IOException {
        var request = new ByteArrayOutputStream();
        request.writeBytes(head.getBytes(StandardCharsets.ISO_8859_1));
        request.writeBytes(body);
        socket.getOutputStream().write(request.toByteArray());
        return readAnswer();
    }

    private Answer readAnswer() throws IOException {
        String first = readLine();
        assertThat(first).startsWith("HTTP/1.1 ");
        Map<String, String> headers = new HashMap<>();
        for (String line = readLine(); !line.isEmpty(); line = readLine()) {
            int colon = line.indexOf(':');
            headers.put(line.substring(0, colon).toLowerCase(Locale.ROOT), line.substring(colon + 1).strip());
        }
        byte[] body = headers.containsKey(LENGTH)
                ? in.readNBytes(Integer.parseInt(headers.get(LENGTH))) : readChunks();
        return new Answer(Integer.parseInt(first.substring(9, 12)), headers, body);
    }

    private byte[] readChunks() throws IOException {
        var body = new ByteArrayOutputStream();
        for (int length = readLength(); length > 0; length = readLength()) {
            body.writeBytes(in.readNBytes(length));
            assertThat(readLine()).isEmpty();
        }
        assertThat(readLine()).isEmpty();
        return body.toByteArray();
    }

    private int readLength() throws IOException {
        return Integer.parseInt(readLine(), 16);
    }

    private String readLine() throws IOException {
        var line = new StringBuilder();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new AssertionError("the connection ended after '" + line + "'");
            }
            line.append((char) next);
        }
        line.setLength(line.length() - 1);                         // its carriage return
        return line.toString();
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
