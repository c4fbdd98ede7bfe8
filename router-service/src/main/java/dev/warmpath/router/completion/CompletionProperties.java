package dev.warmpath.router.completion;

import jakarta.validation.constraints.Positive;
import jakarta.validation.constraints.PositiveOrZero;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.validation.annotation.Validated;

/**
 * The pool that reads large bodies and tokenizes all but short prompts, off the event loops.
 *
 * @param tokenizerThreads threads that read large bodies, tokenize all but short prompts and route those, off the event
 *                         loops; 0 = one less than there are processors, at least 1: answers that run keep one
 * @param tokenizerQueue computations that may wait for one of these threads; one more gets 503
 */
@Validated
@ConfigurationProperties("warmpath.completion")
record CompletionProperties(
        @DefaultValue("0") @PositiveOrZero int tokenizerThreads, @DefaultValue("1024") @Positive int tokenizerQueue) {}
