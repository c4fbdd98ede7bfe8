package dev.warmpath.router.openai;

import java.security.SecureRandom;
import java.time.InstantSource;
import java.util.random.RandomGenerator;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Time and chance of the public API: the {@code created} of answers, and seeds for requests that bring none. */
@Configuration(proxyBeanMethods = false)
class OpenAiConfiguration {

    @Bean
    InstantSource answerTime() {
        return InstantSource.system();
    }

    @Bean
    RandomGenerator seeds() {
        return new SecureRandom();
    }
}
