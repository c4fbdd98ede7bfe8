package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.event.EventFrames;
import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.router.fleet.FleetWorker;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import org.springframework.http.HttpHeaders;

/**
 * Blocking GET requests to workers. {@link HttpURLConnection}, because its read timeout holds for every single read: a
 * stream that falls silent ends by itself. No redirects and no proxy: a worker is asked where it registered, or
 * nowhere.
 */
final class WorkerHttp {

    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
    private static final Duration FILE_READ_TIMEOUT = Duration.ofSeconds(5);
    private static final int MAX_PROBLEM_BYTES = 4096;

    private final FleetToken token;

    WorkerHttp(FleetToken token) {
        this.token = token;
    }

    /** The worker answered, but not with what was asked for. */
    static final class WorkerAnswerException extends IOException {
        private static final long serialVersionUID = 1L;
        private final int status;

        WorkerAnswerException(int status, String body) {
            super("worker answered " + status + (body.isEmpty() ? "" : ": " + body));
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    /** The worker's event stream from a snapshot on; reads fail after {@link EventFrames#LONGEST_SILENCE}. */
    InputStream events(FleetWorker worker) throws IOException {
        URI uri = worker.baseUrl().resolve(
                Protocol.EVENTS_PATH + "?" + Protocol.EPOCH_PARAMETER + "=" + worker.epoch());
        return get(uri, EventFrames.LONGEST_SILENCE);
    }

    /**
     * A model file.
     *
     * @param sha256 its digest in hex
     * @throws IOException also if the content is longer than allowed or has another digest
     */
    byte[] file(URI baseUrl, String sha256) throws IOException {
        try (InputStream in = get(baseUrl.resolve(Protocol.FILES_PATH + sha256), FILE_READ_TIMEOUT)) {
            byte[] content = in.readNBytes(Protocol.MAX_FILE_BYTES + 1);
            if (content.length > Protocol.MAX_FILE_BYTES) {
                throw new IOException("file " + sha256 + " is longer than " + Protocol.MAX_FILE_BYTES + " bytes");
            }
            String actual = sha256(content);
            if (!actual.equals(sha256)) {
                throw new IOException("file " + sha256 + " arrived with digest " + actual);
            }
            return content;
        }
    }

    private InputStream get(URI uri, Duration readTimeout) throws IOException {
        var connection = (HttpURLConnection) uri.toURL().openConnection(Proxy.NO_PROXY);
        connection.setConnectTimeout((int) CONNECT_TIMEOUT.toMillis());
        connection.setReadTimeout((int) readTimeout.toMillis());
        connection.setInstanceFollowRedirects(false);
        connection.setUseCaches(false);
        String header = token.header();
        if (header != null) {
            connection.setRequestProperty(HttpHeaders.AUTHORIZATION, header);
        }
        int status = connection.getResponseCode();
        if (status != HttpURLConnection.HTTP_OK) {
            String body = problem(connection);
            connection.disconnect();
            throw new WorkerAnswerException(status, body);
        }
        return connection.getInputStream();
    }

    private static String problem(HttpURLConnection connection) throws IOException {
        InputStream body = connection.getErrorStream();
        return body == null ? "" : new String(body.readNBytes(MAX_PROBLEM_BYTES), StandardCharsets.UTF_8);
    }

    /** Whether the address was there and nobody listened; the one failure that says that the worker is gone. */
    static boolean isRefusal(IOException failure) {
        String message = failure.getMessage();
        return failure instanceof ConnectException && message != null && message.contains("refused");
    }

    private static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
