package dev.warmpath.router.http;

import dev.warmpath.router.admission.OverloadedException;
import dev.warmpath.router.completion.BadRequestException;
import dev.warmpath.router.dispatch.DispatchException;
import dev.warmpath.router.keys.KeyException;
import java.io.IOException;
import java.util.concurrent.CancellationException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Hooks;
import reactor.netty.channel.AbortedException;

/**
 * What fails when nobody waits for it any more, as the worker's connection of a client who left: Reactor would log an
 * error with its stack trace for each. What is no consequence of leaving is still logged so.
 */
@Component
final class DroppedErrors {

    private static final Logger log = LoggerFactory.getLogger(DroppedErrors.class);

    DroppedErrors() {
        Hooks.onErrorDropped(DroppedErrors::log);
    }

    private static void log(Throwable error) {
        switch (error) {
            case DispatchException _, BadRequestException _, OverloadedException _, KeyException _, IOException _,
                    AbortedException _, CancellationException _ ->
                    log.debug("Nobody waits for what failed: {}", error.toString());
            // an answer's stream that begins to be read when it was cancelled already
            case IllegalStateException late when String.valueOf(late.getMessage())
                    .startsWith("Rejecting additional inbound receiver") -> log.debug("{}", late.getMessage());
            default -> log.error("Something failed that nobody waits for", error);
        }
    }
}
