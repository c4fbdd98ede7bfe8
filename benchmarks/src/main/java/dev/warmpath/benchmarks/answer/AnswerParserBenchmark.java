package dev.warmpath.benchmarks.answer;

import dev.warmpath.router.answer.dialect.AnswerParser;
import dev.warmpath.router.answer.dialect.Dialect;
import dev.warmpath.router.answer.dialect.ReasoningFormat;
import dev.warmpath.router.answer.dialect.ToolFormat;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/**
 * Nanoseconds a token, of answers of 1,000 tokens of 4 characters that come one by one: text in which calls are looked
 * for, reasoning, and one call with long arguments. Run as {@code AnswerParserBenchmark} with {@code -prof gc}, built as
 * those of {@code tokenization}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(value = 1, jvmArgsAppend = {"-Xms512m", "-Xmx512m"})
public class AnswerParserBenchmark {

    private static final int TOKENS = 1_000;
    private static final int CHARS = 4;
    private static final String WORDS = "If 1 < 2, the \"quick\" fox jumps over {the} lazy dog.\\n ";

    /** What the answer consists of. */
    public enum Content {
        TEXT, REASONING, CALL
    }

    @Param
    public Content content = Content.TEXT;
    @Param({"HERMES", "LLAMA3_JSON", "PYTHONIC", "MISTRAL", "DEEPSEEK", "HARMONY"})
    public ToolFormat tools = ToolFormat.HERMES;

    private Dialect dialect = Dialect.PLAIN;
    private final String[] tokens = new String[TOKENS];

    @Setup
    public void prepare() {
        boolean isHarmony = tools == ToolFormat.HARMONY;
        dialect = new Dialect(tools, isHarmony ? ReasoningFormat.HARMONY : ReasoningFormat.THINK);
        String words = WORDS.repeat(TOKENS * CHARS / WORDS.length() + 1);
        String quoted = words.replace("\"", "\\\"");
        String answer = switch (content) {
            case TEXT -> (isHarmony ? "<|channel|>final<|message|>" : "") + words;
            case REASONING -> (isHarmony ? "<|channel|>analysis<|message|>" : "<think>") + words;
            case CALL -> call(quoted);
        };
        for (int i = 0; i < TOKENS; i++) {
            tokens[i] = answer.substring(i * CHARS, (i + 1) * CHARS);
        }
    }

    private String call(String quoted) {
        String object = "{\"name\": \"write\", \"arguments\": {\"text\": \"" + quoted + "\"}}";
        return switch (tools) {
            case LLAMA3_JSON -> object;
            case PYTHONIC -> "[write(text=\"" + quoted + "\")]";
            case MISTRAL -> "[TOOL_CALLS]write[ARGS]{\"text\": \"" + quoted + "\"}";
            case DEEPSEEK -> "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write<｜tool▁sep｜>{\"text\": \"" + quoted + "\"}";
            case HARMONY -> "<|channel|>commentary to=functions.write <|message|>{\"text\": \"" + quoted + "\"}";
            default -> "<tool_call>" + object + "</tool_call>";
        };
    }

    @Benchmark
    @OperationsPerInvocation(TOKENS)
    public void parse(Blackhole hole) {
        AnswerParser parser = dialect.newParser(Set.of("write"), Integer.MAX_VALUE, "", new Random(1));
        for (String token : tokens) {
            hole.consume(parser.accept(token));
        }
        hole.consume(parser.finish());
    }
}
