package dev.warmpath.cli.doctor;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.URLDecoder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Asks the Redis that a fleet would use for a sign of life, as whom the fleet would ask it. Over TLS and of sentinels
 * it only sees whether they answer: the services know whom to trust, and the password is the primary's.
 */
final class RedisDoctor {

    private static final int USUAL_PORT = 6379;
    private static final int USUAL_SENTINEL_PORT = 26379;
    private static final int PATIENCE_MILLIS = 2000;
    private static final int LONGEST_LINE = 300;

    private final Map<String, String> environment;
    private final Consumer<Finding> findings;

    /** @param environment with user and password of the settings, if there are any */
    RedisDoctor(Map<String, String> environment, Consumer<Finding> findings) {
        this.environment = environment;
        this.findings = findings;
    }

    /** @param uri as WARMPATH_REDIS_URI has it; it may hold a password, which is not told */
    void look(String uri) {
        URI parsed;
        try {
            parsed = URI.create(uri);
        } catch (IllegalArgumentException e) {
            findings.accept(Finding.missing("WARMPATH_REDIS_URI is no URI; it looks like redis://host:6379"));
            return;
        }
        String authority = parsed.getRawAuthority() == null ? "" : parsed.getRawAuthority();
        boolean isSentinel = String.valueOf(parsed.getScheme()).contains("sentinel");
        boolean isPlain = "redis".equals(parsed.getScheme());
        List<String> login = isPlain ? login(authority.substring(0, Math.max(0, authority.lastIndexOf('@'))))
                : List.of();
        for (String node : authority.substring(authority.lastIndexOf('@') + 1).split(",")) {
            int colon = node.lastIndexOf(':');
            boolean hasPort = colon >= 0 && node.substring(colon + 1).matches("\\d{1,4}|[1-5]\\d{4}|6[0-4]\\d{3}");
            String host = (hasPort ? node.substring(0, colon) : node).replaceAll("[\\[\\]]", "");
            ask(host, hasPort ? Integer.parseInt(node.substring(colon + 1))
                    : isSentinel ? USUAL_SENTINEL_PORT : USUAL_PORT, isPlain, login);
        }
    }

    /** @return what follows AUTH: a password, before it perhaps a user; empty if there is none */
    private List<String> login(String ofUri) {
        List<String> login = new ArrayList<>();
        String user = environment.getOrDefault("WARMPATH_REDIS_USERNAME", "");
        String password = environment.getOrDefault("WARMPATH_REDIS_PASSWORD", "");
        if (password.isEmpty() && !ofUri.isEmpty()) {
            int colon = ofUri.indexOf(':');
            user = colon > 0 ? decoded(ofUri.substring(0, colon)) : "";
            password = decoded(ofUri.substring(colon + 1));
        }
        Collections.addAll(login, user, password);
        login.removeIf(String::isEmpty);
        return password.isEmpty() ? List.of() : login;
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), UTF_8);
    }

    private void ask(String host, int port, boolean isPlain, List<String> login) {
        String where = host + ":" + port;
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(host, port), PATIENCE_MILLIS);
            socket.setSoTimeout(PATIENCE_MILLIS);
            if (!isPlain) {
                findings.accept(Finding.ok("somebody accepts connections at " + where + ", where Redis should be"));
                return;
            }
            if (!login.isEmpty()) {
                List<String> words = new ArrayList<>(List.of("AUTH"));
                words.addAll(login);
                String said = command(socket, words);
                if (!said.startsWith("+OK")) {
                    findings.accept(Finding.missing("Redis at " + where + " does not take user and password: " + said
                            + "; put WARMPATH_REDIS_USERNAME and WARMPATH_REDIS_PASSWORD right"));
                    return;
                }
            }
            String said = command(socket, List.of("PING"));
            findings.accept(said.startsWith("+PONG") ? Finding.ok("Redis answers at " + where)
                    : said.startsWith("-NOAUTH") ? Finding.missing("Redis at " + where + " asks for a password: set "
                            + "WARMPATH_REDIS_PASSWORD, and WARMPATH_REDIS_USERNAME if it has users")
                    : Finding.warning("what is at " + where + ", where Redis should be, answers PING by '" + said
                            + "'"));
        } catch (IOException e) {
            findings.accept(Finding.missing("nobody answers at " + where + ", where Redis should be: start it, or set "
                    + "WARMPATH_REDIS_URI to where it is. A fleet serves without, and shares no index"));
        }
    }

    /** @return the first line of the answer */
    private static String command(Socket socket, List<String> words) throws IOException {
        var text = new StringBuilder("*" + words.size() + "\r\n");
        words.forEach(word -> text.append('$').append(word.getBytes(UTF_8).length).append("\r\n").append(word)
                .append("\r\n"));
        socket.getOutputStream().write(text.toString().getBytes(UTF_8));
        InputStream answer = socket.getInputStream();
        var line = new StringBuilder();
        int next = answer.read();
        while (next >= 0 && next != '\r' && line.length() < LONGEST_LINE) {
            line.append((char) next);
            next = answer.read();
        }
        if (line.isEmpty()) {
            throw new IOException("no answer");
        }
        answer.skipNBytes(1);
        return line.toString();
    }
}
