package dev.warmpath.router.keys;

import dev.warmpath.router.metrics.RouterMeter;
import dev.warmpath.router.metrics.RouterMetrics;
import io.github.bucket4j.TimeMeter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Keys are asked for where a file of them is named. */
@Configuration(proxyBeanMethods = false)
class KeysConfiguration {

    /** A clock that nobody sets. */
    @Bean
    TimeMeter limitsTime() {
        return TimeMeter.SYSTEM_NANOTIME;
    }

    @Bean
    ApiKeys apiKeys(ApiKeyProperties properties, RouterMetrics metrics, TimeMeter limitsTime) {
        return new ApiKeys(properties.file() != null, metrics, limitsTime);
    }

    /** What follows the file, and says so. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnProperty("warmpath.api-keys.file")
    static class FromFile {

        @Bean(initMethod = "start")
        KeyFileWatch keyFileWatch(ApiKeyProperties properties, ApiKeys apiKeys, RouterMetrics metrics) {
            @Nullable Path file = properties.file();
            if (file == null || file.toString().isEmpty()) {
                // who sets it to nothing did not mean to let everybody in
                throw new IllegalArgumentException("warmpath.api-keys.file is empty: name a file, or leave it unset");
            }
            var watch = new KeyFileWatch(file, apiKeys);
            metrics.watch(RouterMeter.API_KEYS, apiKeys::count);
            metrics.watch(RouterMeter.API_KEYS_OUTDATED, () -> watch.problem() == null ? 0 : 1);
            return watch;
        }

        @Bean("apiKeysFile")
        KeyHealth keyHealth(ApiKeys apiKeys, KeyFileWatch keyFileWatch) {
            return new KeyHealth(apiKeys, keyFileWatch);
        }
    }
}
