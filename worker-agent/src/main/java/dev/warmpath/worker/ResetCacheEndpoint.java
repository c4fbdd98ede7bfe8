package dev.warmpath.worker;

import dev.warmpath.worker.engine.Engine;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.stereotype.Component;

/**
 * {@code /actuator/reset-cache}, as vLLM's {@code /reset_prefix_cache}: forgets the prefixes that no request holds, and
 * announces it, so that routers do not send anybody after them. Under load too, where vLLM's changes nothing.
 */
@OnOwnEngine
@Component
@Endpoint(id = "resetcache")
public class ResetCacheEndpoint {

    private static final Logger log = LoggerFactory.getLogger(ResetCacheEndpoint.class);
    /** It is done between two steps. */
    private static final Duration LONGEST_WAIT = Duration.ofSeconds(10);

    private final Engine engine;

    ResetCacheEndpoint(Engine engine) {
        this.engine = engine;
    }

    /** @param all false if requests under way hold blocks: these stay cached, and so can be found */
    public record Forgotten(boolean all) {}

    @WriteOperation
    public WebEndpointResponse<Object> reset() {
        log.info("an operator: reset-cache");
        try {
            boolean all = engine.resetPrefixCache().get(LONGEST_WAIT.toMillis(), TimeUnit.MILLISECONDS);
            return new WebEndpointResponse<>(new Forgotten(all));
        } catch (TimeoutException e) {
            return unavailable("the engine has been at one step for " + LONGEST_WAIT.toSeconds()
                    + " s, and forgets when it has ended");
        } catch (CancellationException | ExecutionException e) {
            return unavailable("the engine has stopped");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return unavailable("this worker is going away");
        }
    }

    private static WebEndpointResponse<Object> unavailable(String why) {
        HttpStatus status = HttpStatus.SERVICE_UNAVAILABLE;
        return new WebEndpointResponse<>(ProblemDetail.forStatusAndDetail(status, why), status.value());
    }
}
