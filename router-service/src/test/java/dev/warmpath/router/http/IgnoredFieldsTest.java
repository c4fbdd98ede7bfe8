package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.springframework.test.context.TestPropertySource;

/** A router that ignores what nobody knows. */
@TestPropertySource(properties = "warmpath.openai.unknown-fields=ignore")
class IgnoredFieldsTest extends RunningRouter {

    private static final String HEADER = "x-warmpath-ignored-fields";
    private static final String CHAT = "{'model':'tiny','messages':[{'role':'user','content':'Hi'%s}]%s}";

    @Test
    void an_answer_names_the_fields_that_were_ignored() {
        join("w0");

        HttpResponse<String> response = post("/v1/chat/completions",
                CHAT.formatted(",'mood':{'a':[1]}", ",'provider':[{}],'stream_options':null,'é,ü':1"));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue(HEADER)).hasValue("messages[0].mood, provider, ???");
    }

    @Test
    void sixteen_of_many_are_named() {
        join("w0");
        String many = IntStream.range(0, 1_000).mapToObj(i -> ",'x" + i + "':" + i).collect(Collectors.joining());

        HttpResponse<String> response = post("/v1/chat/completions", CHAT.formatted("", many));

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(response.headers().firstValue(HEADER).orElseThrow().split(", ")).hasSize(16).contains("x0", "x15");
    }

    @Test
    void an_answer_to_a_body_without_such_fields_has_no_header() {
        join("w0");

        assertThat(post("/v1/chat/completions", CHAT.formatted("", "")).headers().firstValue(HEADER)).isEmpty();
    }

    /** Nobody would see that something is not done that was asked for. */
    @Test
    void what_is_known_and_not_served_is_refused_all_the_same() {
        join("w0");

        assertThat(post("/v1/chat/completions", CHAT.formatted("", ",'store':true")).statusCode()).isEqualTo(400);
    }
}
