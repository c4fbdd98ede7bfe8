package dev.warmpath.router.live;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What the fleet page shows.
 *
 * @param demo whether the fleet page shows prompts in words, to whoever reaches the management port: only where that is
 *             bound to loopback, else the router does not start
 */
@ConfigurationProperties("warmpath.live")
public record LiveProperties(@DefaultValue("false") boolean demo) {}
