package dev.warmpath.router.completion;

import dev.warmpath.router.answer.dialect.ReasoningFormat;
import dev.warmpath.router.answer.dialect.ToolFormat;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How answers are read for more than text.
 *
 * @param toolParsers by the name of a model, how it writes calls of tools, where its chat template does not tell or tells
 *                    wrong; with none, requests with tools are refused
 * @param reasoningParsers by the name of a model, how it writes its reasoning, likewise
 */
@ConfigurationProperties("warmpath.answers")
record AnswerProperties(
        @DefaultValue Map<String, ToolFormat> toolParsers,
        @DefaultValue Map<String, ReasoningFormat> reasoningParsers) {}
