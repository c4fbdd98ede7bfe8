package dev.warmpath.cli.look;

import dev.warmpath.cli.fleet.CommandException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * One port of one process of a fleet, and the ways in which asking it goes wrong, each as a sentence.
 *
 * @param url    without a path
 * @param name   how sentences call it, such as "the router's management port"
 * @param secret sent as bearer; null: none
 * @param always whether with reads, too
 * @param advice what to do where the secret is missing or wrong
 */
record HttpServer(URI url, String name, @Nullable String secret, boolean always, String advice) {

    static final JsonMapper JSON = JsonMapper.builder().build();

    private static final Duration CONNECT = Duration.ofSeconds(3);
    /** A router answers within milliseconds; one that is held up this long is no help to who looks. */
    private static final Duration ANSWER = Duration.ofSeconds(15);
    /** Of the metrics of a thousand workers there are some ten. */
    private static final long MOST_BYTES = 64L << 20;
    private static final int QUOTED = 200;
    private static final HttpClient CLIENT = HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1).connectTimeout(CONNECT).build();

    record Answer(int status, String body) {}

    static HttpServer api(URI url, String name, @Nullable String key, String advice) {
        return new HttpServer(url, name, key, /* always */ true, advice);
    }

    /** Its reads ask for no secret, and so are shown none. */
    static HttpServer management(URI url, String name, @Nullable String token, String advice) {
        return new HttpServer(url, name, token, /* always */ false, advice);
    }

    JsonNode json(String path) {
        return parsed(path, done(path, ask("GET", path, null)));
    }

    String text(String path) {
        return done(path, ask("GET", path, null)).body();
    }

    JsonNode post(String path, String body) {
        return parsed(path, done(path, ask("POST", path, body)));
    }

    /**
     * Asks, and leaves it to the caller to judge the status.
     *
     * @throws CommandException if no answer comes, or one that asks for a secret
     */
    Answer ask(String method, String path, @Nullable String body) {
        var request = HttpRequest.newBuilder(url.resolve(path)).timeout(ANSWER)
                .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body));
        if (body != null) {
            request.header("content-type", "application/json");
        }
        if (secret != null && (always || !method.equals("GET"))) {
            request.header("authorization", "Bearer " + secret);
        }
        try {
            HttpResponse<String> answer = CLIENT.send(request.build(),
                    BodyHandlers.limiting(BodyHandlers.ofString(), MOST_BYTES));
            if (answer.statusCode() == 401) {
                throw new CommandException(url + " refuses (401): " + advice);
            }
            return new Answer(answer.statusCode(), answer.body());
        } catch (HttpTimeoutException e) {
            throw new CommandException(name + " at " + url + " does not answer in time: it is there, or a network that"
                    + " swallows what is sent, but busy or stuck");
        } catch (ConnectException e) {
            throw new CommandException("nobody answers at " + url + ", where " + name + " should be: is it running, and"
                    + " is this its address?");
        } catch (IOException e) {
            throw new CommandException(name + " at " + url + " broke off, or speaks no HTTP: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CommandException("interrupted");
        }
    }

    private Answer done(String path, Answer answer) {
        if (answer.status() / 100 != 2) {
            throw new CommandException(url + path + " answers " + answer.status() + ": " + reason(answer));
        }
        return answer;
    }

    private JsonNode parsed(String path, Answer answer) {
        try {
            return JSON.readTree(answer.body());
        } catch (JacksonException e) {
            throw new CommandException(url + path + " is not what " + name + " answers: " + quoted(answer.body()));
        }
    }

    /** A text as one segment of a path. */
    static String segment(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Of an error of the API, of a problem between services, or of whatever else it is. */
    static String reason(Answer answer) {
        try {
            JsonNode json = JSON.readTree(answer.body());
            String message = json.path("error").path("message").asString(json.path("detail").asString(""));
            return message.isEmpty() ? quoted(answer.body()) : message;
        } catch (JacksonException e) {
            return quoted(answer.body());
        }
    }

    private static String quoted(String text) {
        String line = text.strip().replaceAll("\\p{Cntrl}+", " ");
        if (line.isEmpty()) {
            return "nothing";
        }
        return "'" + (line.length() > QUOTED ? line.substring(0, QUOTED) + "…" : line) + "'";
    }
}
