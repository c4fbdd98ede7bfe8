package dev.warmpath.router.dispatch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.warmpath.router.ErrorAnswer;
import dev.warmpath.router.ErrorRow;
import dev.warmpath.router.FakeWorker;
import dev.warmpath.router.RunningRouter;
import java.net.http.HttpResponse;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.test.context.TestPropertySource;

@TestPropertySource(properties = "warmpath.dispatch.first-token-timeout=500ms")
class FirstTokenSilenceTest extends RunningRouter {

    @ErrorRow("504 deadline_exceeded")
    @ParameterizedTest
    @ValueSource(strings = {"false", "true"})
    void the_only_worker_s_silence_is_an_ordinary_error(String stream) {
        join("w0").doing(FakeWorker.hangingAfter());

        HttpResponse<String> response = post("/v1/completions",
                "{'model':'tiny','prompt':[10],'stream':" + stream + "}");

        assertThat(ErrorAnswer.of(response)).isEqualTo(ErrorAnswer.of(504, ErrorAnswer.object(
                "the worker 'w0' sent no token for 500 ms", "api_error", null, "deadline_exceeded")));
    }
}
