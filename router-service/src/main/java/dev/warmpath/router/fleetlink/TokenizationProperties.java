package dev.warmpath.router.fleetlink;

import jakarta.validation.constraints.NotNull;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.util.unit.DataSize;
import org.springframework.validation.annotation.Validated;

/**
 * How prompts become tokens.
 *
 * @param segmentCache memory for the tokens of long messages, of all models together: the next turn of a conversation
 *                     encodes only what is new. 0 keeps none
 */
@Validated
@ConfigurationProperties("warmpath.tokenization")
public record TokenizationProperties(@DefaultValue("64MB") @NotNull DataSize segmentCache) {}
