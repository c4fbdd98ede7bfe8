package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whoever has asked for a long answer keeps its place, and the memory of it, until it has read it or left. */
class UnreadAnswersTest extends RunningRouter {

    private static final int LONG = 480;
    private static final int LETTERS_OF_LONG = 2_000;
    /** More than lies between router and client. */
    private static final int LETTERS = 12_000_000;
    private static final String IDS = "480,".repeat(LETTERS / LETTERS_OF_LONG - 1) + LONG;

    @Override
    protected int contextLength() {
        return LETTERS / LETTERS_OF_LONG + 8;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        /detokenize     | {"model":"tiny","tokens":[%s]}     | 24000000 | true
        /detokenize     | {"model":"tiny","tokens":[%s]}     | 24000000 | false
        /v1/completions | {"model":"tiny","prompt":"Hi","max_tokens":6000} | 24000000 | true
        /v1/completions | {"model":"tiny","prompt":"Hi","max_tokens":6000} | 24000000 | false
        """)
    void a_place_is_taken_until_the_whole_answer_has_been_read_or_its_reader_has_left(
            String path, String body, long leastHeldBytes, boolean isRead) throws IOException {
        int[] drawn = new int[LETTERS / LETTERS_OF_LONG];
        Arrays.fill(drawn, LONG);
        join("w0").doing(FakeWorker.finishing(FinishReason.LENGTH, 0, drawn));
        loadLongToken(LONG, LETTERS_OF_LONG);
        try (var socket = new Socket()) {
            socket.setReceiveBufferSize(256 << 10);
            socket.connect(new InetSocketAddress("127.0.0.1", uri("/").getPort()));
            String json = body.formatted(IDS);
            socket.getOutputStream().write(("POST " + path + " HTTP/1.1\r\nhost: r\r\nconnection: close\r\n"
                    + "content-type: application/json\r\ncontent-length: " + json.length() + "\r\n\r\n" + json)
                    .getBytes(StandardCharsets.US_ASCII));
            assertThat(new String(socket.getInputStream().readNBytes(15), StandardCharsets.US_ASCII))
                    .isEqualTo("HTTP/1.1 200 OK");

            eventually(() -> inFlight() == 1);
            assertThat(heldBytes()).isGreaterThanOrEqualTo(leastHeldBytes);
            if (isRead) {
                assertThat(letters(socket.getInputStream())).isEqualTo(LETTERS);
            } else {
                socket.setSoLinger(true, 0);
            }
        }
        eventually(() -> inFlight() == 0 && heldBytes() == 0);
    }

    @Test
    void more_ids_than_the_context_has_are_refused() {
        join("w0");

        var most = post("/detokenize", "{'model':'tiny','tokens':[%s]}".formatted("7,".repeat(6_007) + "7"));
        var tooMany = post("/detokenize", "{'model':'tiny','tokens':[%s]}".formatted("7,".repeat(6_008) + "7"));

        assertThat(most.statusCode()).isEqualTo(200);
        assertThat(tooMany.statusCode()).isEqualTo(400);
        assertThat(json(tooMany).path("error").toString()).isEqualTo("""
                {"message":"This model's maximum context length is 6008 tokens. 'tokens' has 6009","type":"invalid_request_error",\
                "param":"tokens","code":"context_length_exceeded"}""");
    }

    /** How often the token's letter comes until the end. */
    private static long letters(InputStream in) throws IOException {
        long sum = 0;
        byte[] some = new byte[1 << 16];
        for (int count = in.read(some); count >= 0; count = in.read(some)) {
            for (int i = 0; i < count; i++) {
                sum += some[i] == 'Q' ? 1 : 0;
            }
        }
        return sum;
    }
}
