package dev.warmpath.router.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.ErrorRow;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class RouterFaultTest {

    @ErrorRow("500 internal_error")
    @Test
    void a_fault_of_this_router_is_told_without_a_word_of_what_it_was() {
        ApiError error = ApiError.of(new IllegalStateException("a secret"));

        assertThat(error.status()).isEqualTo(500);
        assertThat(JsonMapper.shared().writeValueAsString(error.body())).isEqualTo(
                "{\"error\":{\"message\":\"the router failed on this request; its log tells more\","
                        + "\"type\":\"api_error\",\"param\":null,\"code\":\"internal_error\"}}");
    }
}
