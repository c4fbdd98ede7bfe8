package dev.warmpath.tokenization.template;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A model's chat template, ready to turn conversations into prompts. Safe for concurrent use.
 *
 * <p>Semantics are Jinja 3.1's with Hugging Face's settings (trim_blocks, lstrip_blocks, loop controls, {@code tojson}
 * without HTML escapes, nothing that changes a list or a dict; transformers, {@code chat_template_utils.py}); the
 * golden files beside the test were rendered by jinja2. What nobody has written here fails where it is reached, by
 * name, and not before. Differences: keys of a dict are strings, numbers or None, and {@code 1}, {@code 1.0} and
 * {@code True} are three of them; ranges and the views of dicts print as lists; loops are not recursive, and blocks not
 * known.
 *
 * <p>The rendered prompt knows which characters the client wrote (see {@link RenderedPrompt}): content, names, tools,
 * extra variables. What the template wrote is trusted, and so are {@code bos_token}, {@code eos_token} and a role made
 * of letters, digits, {@code _} and {@code -}, because templates build markers from roles: {@code '<|' + role + '|>'}.
 */
public final class ChatTemplate {
    private static final int MAX_SOURCE_CHARS = 1 << 20;
    /** What a template writes around a message, generously. */
    private static final int CHARS_AROUND_MESSAGE = 64;
    private static final Pattern TRUSTED_ROLE = Pattern.compile("[A-Za-z0-9_-]+");
    private static final Text ROLE = Text.trusted("role");
    private static final Text CONTENT = Text.trusted("content");

    private final String source;
    private final List<Statement> statements;
    private final String literals;
    private final ContentForm contentForm;
    private final TemplateLimits limits;
    private final RenderClock clock;

    private ChatTemplate(String source, List<Statement> statements, TemplateFacts facts, TemplateLimits limits,
            RenderClock clock) {
        this.source = source;
        this.statements = statements;
        this.literals = facts.literals();
        this.contentForm = facts.contentForm();
        this.limits = limits;
        this.clock = clock;
    }

    public static ChatTemplate compile(String source) {
        return compile(source, TemplateLimits.DEFAULT, RenderClock.SYSTEM);
    }

    /**
     * @throws TemplateException SYNTAX or UNSUPPORTED, naming the construct and its line; LIMIT for a source of more
     *                           than 1,048,576 characters
     */
    public static ChatTemplate compile(String source, TemplateLimits limits, RenderClock clock) {
        if (source.length() > MAX_SOURCE_CHARS) {
            throw new TemplateException(TemplateException.Kind.LIMIT,
                    "the chat template has " + source.length() + " characters, the limit is " + MAX_SOURCE_CHARS, 0);
        }
        var facts = new TemplateFacts();
        List<Statement> statements = Parser.parse(source, facts);
        return new ChatTemplate(source, statements, facts, limits, clock);
    }

    /** As the model's files have it. */
    public String source() {
        return source;
    }

    /** All text that the template writes itself, between tags and in strings, a {@code \0} behind each piece. */
    public String literals() {
        return literals;
    }

    ContentForm contentForm() {
        return contentForm;
    }

    /**
     * The prompt of a conversation.
     * @param addGenerationPrompt end with the marker after which the assistant speaks
     * @param bosToken            as the model spells it; null leaves {@code bos_token} undefined
     * @param eosToken            likewise
     * @param variables           what else the template can see, as {@code tools} or {@code enable_thinking}; values as
     *                            in {@link ChatMessage#fields}; they win over nothing that is named above
     * @throws TemplateException REFUSED with the template's own message, EVALUATION, LIMIT or UNSUPPORTED
     */
    public RenderedPrompt render(List<ChatMessage> messages, boolean addGenerationPrompt, @Nullable String bosToken,
            @Nullable String eosToken, Map<String, ?> variables) {
        var context = new RenderContext(limits, clock);
        context.messages(messages.size());
        var scope = new HashMap<String, Value>();
        scope.put("tools", Value.NONE);                          // Hugging Face defines both for every template
        scope.put("documents", Value.NONE);
        variables.forEach((name, value) -> scope.put(name, Value.of(value, context)));
        var said = new ArrayList<Value>(messages.size());
        messages.forEach(message -> said.add(message(message, context)));
        scope.put("messages", Value.list(said));
        scope.put("add_generation_prompt", Value.bool(addGenerationPrompt));
        putIfPresent(scope, "bos_token", bosToken);
        putIfPresent(scope, "eos_token", eosToken);
        var rendering = new Rendering(scope, context, expectedChars(messages));
        return new RenderedPrompt(rendering.run(statements));
    }

    /** Of most templates, about the prompt's length. */
    private static int expectedChars(List<ChatMessage> messages) {
        long chars = CHARS_AROUND_MESSAGE;
        for (ChatMessage message : messages) {
            for (String part : Objects.requireNonNullElse(message.parts(), List.<String>of())) {
                chars += part.length() + CHARS_AROUND_MESSAGE;
            }
        }
        return (int) Math.min(MAX_SOURCE_CHARS, chars);
    }

    private static void putIfPresent(Map<String, Value> scope, String name, @Nullable String token) {
        if (token == null) {
            scope.remove(name);
        } else {
            scope.put(name, Text.trusted(token));
        }
    }

    private Value message(ChatMessage message, RenderContext context) {
        var entries = new LinkedHashMap<Value, Value>();
        String role = message.role();
        entries.put(ROLE, TRUSTED_ROLE.matcher(role).matches() ? Text.trusted(role) : Text.fromClient(role));
        entries.put(CONTENT, contentForm.of(message, context));
        message.fields().forEach(
                (name, value) -> entries.putIfAbsent(Text.fromClient(name), Value.of(value, context)));
        return new Value.Dict(entries);
    }
}
