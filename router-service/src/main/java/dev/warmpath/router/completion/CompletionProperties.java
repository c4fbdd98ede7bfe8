package dev.warmpath.router.completion;

import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The pool that reads large bodies, tokenizes and routes, off the event loops.
 *
 * @param tokenizerThreads  0 = one per processor
 * @param tokenizerQueue    computations that may wait for one of them; one too many is refused as overload
 */
@Validated
@ConfigurationProperties(value = "warmpath.completion", ignoreUnknownFields = false)
record CompletionProperties(
        @DefaultValue("0") @PositiveOrZero int tokenizerThreads, @DefaultValue("1024") @Positive int tokenizerQueue) {}
